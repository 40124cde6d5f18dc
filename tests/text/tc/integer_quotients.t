# An integer quotient is rounded down before it is added to a float; products of narrow integers do not wrap before they are.
--- q.tc
def quotients(int(N) A) -> (double O, double P, double Q) {
    O +=! A(i) / 3
    P +=! A(i) % 0
    Q +=! (A(i) + 1) / 2 * A(i)
}
def narrow(i8(N) A) -> (float O, double P) {
    O +=! A(i) * A(i)
    P +=! A(i) * A(i) / 7
}
$ @/tests/npy write A.npy '<i4' 4 5 -4 7 1
$ loopwright run q.tc --def quotients --in A=A.npy --backend interp | grep -A1 out
  out      f64 O: checksum aab1693229ba1db8
           1
  out      f64 P: checksum a8c7f832281a39c5
           0
  out      f64 Q: checksum a98d543228c21dcf
           52
$ loopwright run q.tc --def quotients --in A=A.npy | grep -A1 out
  out      f64 O: checksum aab1693229ba1db8
           1
  out      f64 P: checksum a8c7f832281a39c5
           0
  out      f64 Q: checksum a98d543228c21dcf
           52
$ loopwright show q.tc --def narrow
program narrow(N) {
    input A: i8[N]
    output O: f32[]
    output P: f64[]

    O: for i in 0:N
        O[] +=! f32(A[i])*f32(A[i])

    P: for i in 0:N
        P[] +=! f64(i32(A[i])*i32(A[i])/7)
}
