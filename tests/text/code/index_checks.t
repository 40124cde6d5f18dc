# An index from data is checked once: in front of the loop if it is the same in every iteration, and not at all if minimum and maximum keep it inside. Here the
# loop over m has no check left, and I(n) + 1 is not limited first, because a checked I(n) cannot overflow.
--- between.tc
def between(float(V) A, int(N) I, float(N) f, float(M) s) -> (O) {
    O(m,n) = s(m) * (A(I(n)) * f(n) + A(min(I(n) + 1, V-1)) * (1 - f(n)))
}
--- rows.lws
O: m n:v
--- coo.tc
def coo(int(Z) R, int(Z) C, float(Z) v, float(N) x) -> (float(N) y) { y(R(e)) += v(e) * x(C(e)) }
--- eight.lws
y: e/8 e:u
$ loopwright show between.tc --size V=50,N=32,M=40 --schedule rows.lws --isa avx512 --stage asm | grep -o '^L[01]:\|jnz\|jl L[01]\|vpmaxsd' | uniq -c
      2 jnz
      1 L0:
      1 jl L0
      1 L1:
$ loopwright run between.tc --size V=50,N=32,M=40 --schedule rows.lws --isa avx512 --check | grep check
  check    right: {{.*}}
$ loopwright show coo.tc --size Z=800,N=100 --schedule eight.lws --isa avx2 --stage asm | sed -n '/^L0/,/jl L0/p' | grep -o 'shl\|rsp\|vmovss dword ptr \[[a-z0-9+]*\*4\]' | sort | uniq -c
      8 vmovss dword ptr [rbx+r11*4]
--- stderr
coo.tc:1:79: warning: '+=' updates the old content of 'y', which becomes an in-out argument
  def coo(int(Z) R, int(Z) C, float(Z) v, float(N) x) -> (float(N) y) { y(R(e)) += v(e) * x(C(e)) }
                                                                                ^~
note: write '+=!' to start from the identity
