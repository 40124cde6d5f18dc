# A result that a statement writes whole stays a plain result, whatever later statements read of it.
--- m.tc
def a(float(N) A) -> (float(N) O, P) { O(i) = A(i)  P(i) = pad(O(i-1),0) where i in 0:N }
def c(float(N) A) -> (float(N) O, P) { O(i) = A(i)  P(i) = i > 0 ? O(i-1) : 0.0 where i in 0:N }
def b(float(N) A) -> (float(N) O, P) { O(i) = A(i)  P = O(0) }
def d(float(N,M) A) -> (float(N,M) O) { O(i,j) = A(i,j)  O(0,j) max= 1.0 where j in 0:M }
$ loopwright check m.tc
a(f32(N) A) -> (f32(N) O, f32(N) P)
c(f32(N) A) -> (f32(N) O, f32(N) P)
b(f32(N) A) -> (f32(N) O, f32 P)
d(f32(N, M) A) -> (f32(N, M) O)
