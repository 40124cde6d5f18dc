# What a constraint says ends with it: the comment before the next rule is not part of it.
--- mm.tc
def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }
$ loopwright space mm.tc --size M=8,N=8,K=8 --explain --samples 1 | grep -c '//'
0
--- exit 1
