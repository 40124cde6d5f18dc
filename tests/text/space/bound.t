# What nothing in a space, or below some decisions, can be faster than, and why.
--- mm.tc
def mm(float(M,K) A, float(K,N) B) -> (C) {
    C(m,n) +=! A(m,k) * B(k,n)
}
--- mm.lws
C: m n k
--- add.tc
def add(float(N) A, float(N) B) -> (C) {
    C(i) = A(i) + B(i)
}
$ loopwright space mm.tc --size M=512,N=512,K=512 --threads 1 --explain-bound | head -4
space            {{[0-9]+}} objects, {{[0-9]+}} variables, {{[0-9]+}} bytes a candidate
bound            {{[0-9.]+ [um]s}}, by compute
  compute        {{[0-9.]+ [um]s}}
    C            {{[0-9.]+ [um]s +}}1.34e+08 operations, {{(16|8) of (16|8) lanes|no lanes}}, 1 core
$ loopwright space mm.tc --size M=512,N=512,K=2048 --schedule mm.lws --explain-bound | sed -n 2,4p
bound            {{[0-9.]+ m?s}}, by chain
  chain          {{[0-9.]+ m?s}}
    C            {{[0-9.]+ m?s +}}{{[0-9.]+}} cycles a step, 1 sums at a time
$ loopwright space mm.tc --size M=4,N=4,K=4 --set 'kind(C.n.0) = VECTOR' --explain-bound | grep -c bound
1
$ loopwright space add.tc --size N=100000000 --explain-bound | sed -n 2,3p
bound            {{[0-9.]+ ms}}, by {{memory|L3}}
  {{(memory|L3) +[0-9.]+ ms +}}every argument once
$ loopwright space mm.tc --size M=4,N=4,K=4 --complete --explain-bound
--- stderr
loopwright space: --explain-bound has no effect with --complete
usage: loopwright space FILE [options]; --help explains them
--- exit 2
