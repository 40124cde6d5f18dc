# A Stripe program by hand: the tensors are those of the outermost block.
--- tail.stripe
block []:1 ( // tail
    in I[0] i32(10):(1)
    out O[0] i32(2):(1)
) {
    0: #parallel block [x:3]:3 (
        in I[4*x] i32(4):(1)
        out O[0]:add i32(2):(1)
    ) {
        0: #serial block [x:4, x_0 = x]:4 (
            9 - x - 4*x_0 >= 0
            in I[x] i32(1):(1)
            out O[x%2]:add i32(1):(1)
        ) { $i = load(I) O = store($i) }
    }
}
$ loopwright check tail.stripe
tail(i32(10) I) -> (i32(2) O)
$ loopwright show tail.stripe --stage tree
for x in 4
  O[x%2] = 0
for x in 3 parallel
  for x.1 in 4, x_0 = x where 9 - 4*x - x.1 >= 0
    O[x.1%2] += I[4*x + x.1]
$ loopwright show tail.stripe
block []:1 ( // tail
    in I[0] i32(10):(1)
    out O[0] i32(2):(1)
) {
    0: #serial block [x:4]:4 (
        out O[x%2]:assign i32(1):(1)
    ) {
        0: $0 = (i32)0
        1: #init O = store($0)
    }
    1: #parallel block [x:3]:3 (
        in I[4*x] i32(4):(1)
        inout O[0]:add i32(2):(1)
    ) {
        0: #serial block [x:4, x_0 = x]:4 (
            9 - x - 4*x_0 >= 0
            in I[x] i32(1):(1)
            out O[x%2]:add i32(1):(1)
        ) {
            0: $I = load(I)
            1: O = store($I)
        }
    }
}
$ loopwright show tail.stripe > again.stripe && loopwright show again.stripe | cmp - again.stripe
