A prefetch of an operand that inlining removes, since both branches become the same, has no effect; in partial results too.
--- p.tc
def p(float(M,N) A, float s) -> (T) {
    t(j,i) = s where i in 0:M, j in 0:N
    T(i) min=! A(i,j) < s ? s : t(j,i)
}
--- s.lws
t:
    inline
T: |
    privatise j/2
T.part: | j.p j i:v
    prefetch A at j.p distance 8 level 1
$ loopwright run p.tc --size M=25,N=4 --schedule s.lws | grep -c checksum
1
