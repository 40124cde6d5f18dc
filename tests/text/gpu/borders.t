# Border blocks compute indices that full blocks never have; threads combine only what no other thread reduces; vectors are not copied to registers.
--- mirror.lwp
program mirror {
    input A: f32[15, 13]
    output B: f32[7, 11] from [0, -1]

    B: for i in -1:10, k in 0:7
        B[k, i] = A[(18 - 2*i)%24/2, (k - i + 8)%13]
}
--- mirror.lws
B: i k
--- sums.lwp
program sums {
    input X: f32[31]
    inout S: f32[31]

    S: for i in 0:31, k in 0:3, l in 0:5
        S[k + l + 6] += X[i]
}
--- sums.lws
S: k:grid.y l%4:grid.x l:thread.y i%8 i:thread.x
--- most.lwp
program most {
    input V: i64[2] from [1]
    output M: i64[]
    temp W: i64[2]

    W: for i in 0:2
        W[i] = V[i + 1]

    M: for i in 0:2
        M[] max=! W[i]
}
--- most.lws
W:
    at i%2
M: i%2
    copy W at i%2
$ loopwright run most.lwp --schedule most.lws --device emulate --check | grep check
  check    right: bit for bit, against the interpreter
$ loopwright run mirror.lwp --schedule mirror.lws --device emulate --check | grep check
  check    right: bit for bit, against the interpreter
$ loopwright run sums.lwp --schedule sums.lws --device emulate --check | grep check
  check    right: {{.*}}
--- stderr
sums.lwp:6:9: warning: the loop over 'l' is grid.x, but one block runs all its iterations: other loops or nests are around or beside it
          S[k + l + 6] += X[i]
          ^~~~~~~~~~~~~~~~~~~~
sums.lwp:6:9: warning: the loop over 'k' is grid.y, but one block runs all its iterations: its iterations depend on each other
          S[k + l + 6] += X[i]
          ^~~~~~~~~~~~~~~~~~~~
