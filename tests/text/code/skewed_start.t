# A copy that may not run at all keeps the elements that it would initialise.
--- skewed.lwp
program skewed {
    input A: f32[6, 8]
    output D: f32[14]

    D: for i in 0:6, j in 0:8
        D[i + j] +=! A[i, j]
}
--- skewed.lws
D: i%2 j%5
    skew i by j
$ loopwright run skewed.lwp --schedule skewed.lws --check | grep check
  check    right: bit for bit, against the interpreter
