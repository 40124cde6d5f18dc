# An intermediate that stays in the scratchpad between two statements: docs/passes.md.
--- two.tc
def two(float(M,K) A, float(K,N) B, float(N,P) D) -> (C) {
    T(m,n) +=! A(m,k) * B(k,n)
    C(m,p) +=! T(m,n) * D(n,p)
}
$ loopwright simulate two.tc --size M=64,N=64,K=128,P=64 --machine @/examples/machines/chip.lwm --check | grep 'cycles\|moved\|check'
  cycles   21152; at least 12288, bound by compute: 58.1 % of what the machine allows
  moved    131072 bytes; at least 98304
  check    executed: the same tasks, the right results
$ sed 's/inner=#tile/inner=#tile keep=yes/' @/examples/machines/chip.lwm > keep.lwm
$ loopwright simulate two.tc --size M=64,N=64,K=128,P=64 --machine keep.lwm --check | grep 'cycles\|moved\|check'
  cycles   17364; at least 12288, bound by compute: 70.8 % of what the machine allows
  moved    98304 bytes; at least 98304
  check    executed: the same tasks, the right results
