# Two steps of one buffer: what is read at U[t] is never written at U[1 - t], so rows that run together load
# what they share once. Strides that do meet (A[t] and A[2*t + 1]) are loaded again after the store.
--- blur.tc
def blur(float(M,N) A, int T) -> (B) {
    U(0,i,j) = A(i,j)
    for t in 0:T {
        U(t+1,i,j) = i > 0 && i < M - 1 ? U(t,i-1,j) + U(t,i,j) + U(t,i+1,j) : U(t,i,j) where i in 0:M, j in 0:N
    }
    B(i,j) = U(T,i,j)
}
--- rows.lws
U.1: t/2 t i/4 j/8 i:u j:v
--- meet.tc
def meet(int(K) Z, int(T) X) -> (A) {
    A(i) = Z(i)
    for t in 0:T { A(2*t + 1) = A(t) * 3 + X(t) }
}
--- meet.lws
A.1: t/8 t:u
$ loopwright show blur.tc --size M=64,N=64,T=8 --schedule rows.lws --isa avx2 --threads 1 --stage report | grep '8 x 4 x 8' | awk '{print $(NF-5) " loads, " $(NF-4) " stores"}'
49 loads, 32 stores
$ loopwright run blur.tc --size M=64,N=64,T=8 --schedule rows.lws --check | grep check
  check    right: bit for bit, against the interpreter
$ loopwright run meet.tc --size T=24,K=49 --schedule meet.lws --check | grep check
  check    right: bit for bit, against the interpreter
