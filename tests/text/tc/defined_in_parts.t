# A tensor that many statements define together is whole, and a call may go on with one that is defined.
--- grid.tc
def grid(float(N,N) A) -> (O) {
    T(i,j) = A(i,j) where i in 0:8, j in 0:8
    T(i,j) = A(i,j) where i in 0:8, j in 8:16
    T(i,j) = A(i,j) where i in 0:8, j in 16:24
    T(i,j) = A(i,j) where i in 8:16, j in 0:8
    T(i,j) = A(i,j) where i in 8:16, j in 8:16
    T(i,j) = A(i,j) where i in 8:16, j in 16:24
    T(i,j) = A(i,j) where i in 16:24, j in 0:8
    T(i,j) = A(i,j) where i in 16:24, j in 8:16
    T(i,j) = A(i,j) where i in 16:24, j in 16:24
    O(i,j) = T(i,j)
}
--- call.tc
def sgemm(float(M,K) A, float(K,N) B) -> (float(M,N) C) { C(i,j) += A(i,k) * B(k,j) }
def k(float(M,K) A, float(K,N) B, float(N) b) -> (O) {
    O(i,j) = b(j) where i in 0:M
    O = sgemm(A, B)
}
$ loopwright check grid.tc --size N=64
grid(f32(N, N) A) -> (f32(24, 24) O)
  with N = 64:
  in    f32(64, 64) A
  out   f32(24, 24) O
  temp  f32(24, 24) T
$ loopwright run call.tc --def k --size M=3,N=4,K=5 --backend interp | grep out
  out      f32(3, 4) O: checksum b93a7239b6603d48
--- stderr
call.tc:1:66: warning: '+=' updates the old content of 'C', which becomes an in-out argument
  def sgemm(float(M,K) A, float(K,N) B) -> (float(M,N) C) { C(i,j) += A(i,k) * B(k,j) }
                                                                   ^~
note: write '+=!' to start from the identity
