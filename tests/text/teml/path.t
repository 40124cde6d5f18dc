# A Schedule as the TeML path that makes its loops; the text makes them again. Without a path there is a reason.
--- mm.tc
def mm(float(M,K) A, float(K,N) B) -> (C) {
    C(m,n) +=! A(m,k) * B(k,n)
}
--- mm.lws
C: m/32:p n/64 k/16 m k n:v
--- copy.lws
C: m/32 k m n
    copy A at m/32
$ loopwright show mm.tc --size M=90,N=128,K=64 --schedule mm.lws --stage teml
A = tensor(f32, [90, 64])
B = tensor(f32, [64, 128])
C = tensor(f32, [90, 128])
v1 = vmul(A, B, [[i1, i3], [i3, i2]])
C = add(C, v1, [[i1, i2], ] -> [i1, i2])
init(C, 0)
mm = build(C)
mm = stripmine(mm, 1, 32)
mm = stripmine(mm, 3, 64)
mm = stripmine(mm, 5, 16)
mm = interchange_n(mm, 4, 2)
mm = interchange_n(mm, 2, 2)
mm = parallelize(mm, 1)
mm = vectorize(mm, 6)
codegen(mm)
$ loopwright show mm.tc --size M=90,N=128,K=64 --schedule mm.lws --stage teml > mm.teml && loopwright show mm.teml | tail -7
for i1 in 3 parallel
  for i2 in 2
    for i3 in 4
      for i1.1 in 32 where 89 - 32*i1 - i1.1 >= 0
        for i3.1 in 16
          for i2.1 in 64 vector
            C[32*i1 + i1.1, 64*i2 + i2.1] += A[32*i1 + i1.1, 16*i3 + i3.1]*B[16*i3 + i3.1, 64*i2 + i2.1]
$ loopwright run mm.teml --check | sed -n 3p
  check    right: bit for bit, against the interpreter
$ loopwright show mm.tc --size M=90,N=128,K=64 --schedule copy.lws --stage teml
--- stderr
error: no TeML path makes these loops: the Schedule adds tensors: copies, or partial results
--- exit 1
$ loopwright show mm.teml --stage teml
--- stderr
error: this TeML program decides its own loops: it has no statements that could be shown or scheduled
note: its stages are tree and stripe, and the back-ends that take Trees run it
--- exit 1
$ loopwright show mm.teml --no-path --schedule naive --stage teml | tail -2
mm = build(C)
codegen(mm)
$ loopwright show @/examples/teml/gconv.teml --def gconv --no-path --schedule naive --stage teml | sed -n 4,5p
v1 = vmul(I, W, [[i1, i2, i6, i4 + i7, i5 + i8], [i2, i3, i6, i7, i8]])
O = add(O, v1, [[i1, i2, i3, i4, i5], ] -> [i1, i2, i3, i4, i5])
