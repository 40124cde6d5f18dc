# Stripe text keeps sums of elements inside of quotients and remainders, as Programs do: moving a term across could change what overflows.
--- q.stripe
block []:1 ( // q
    in A[0] fp32(40):(1)
    in J[0] i64(8):(1)
    out O[0]:assign fp32(8):(1)
) {
    0: block [i:8]:8 (
        in A[0] fp32(40):(1)
        in J[i] i64(1):(1)
        out O[i]:assign fp32(1):(1)
    ) {
        0: $J = load(J)
        1: $A = load(A[max($J - 11, ($J - 2)/10) + ($J + 12)%5])
        2: O = store($A)
    }
}
$ loopwright show q.stripe --stage stripe | grep '$A = '
        1: $A = load(A[($J + 12)%5 + max($J - 11, ($J - 2)/10)])
