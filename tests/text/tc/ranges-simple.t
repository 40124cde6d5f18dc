# Inferred ranges: subscripts of one index, strides, offsets, reversal.
--- a.tc
def copy(float(N) I) -> (O) { O(i) = I(i) }
def transpose(float(N,M) I) -> (O) { O(i,j) = I(j,i) }
def every123(float(N) I) -> (O) { O(i) = I(123*i) }
def later(float(N) I) -> (O) { O(i) = I(i-1) }
def earlier(float(N) I) -> (O) { O(i) = I(i+5) }
def pairs(float(N) B) -> (A) { A(i) = B(2*i) + B(2*i+1) }
def reversed(float(N) B) -> (A) { A(i) = B(N-1-i) }
def reversed10(float(N) B) -> (A) { A(i) = B(10-i) }
def halves(float(N) B) -> (A) { A(i) = B(i/2) }
def strided(int32 s, float(N) B) -> (A) { A(i) = B(s*i) }
def least(float(A0,A1,A2) A, float(B0,B1,B2) B) -> (O) { O(j,k,l) +=! B(j,k,l)*A(i,j,k) }
def both(float(N) B) -> (A) { A(i,j) = B(i) + B(j+3) }
$ loopwright check a.tc
copy(f32(N) I) -> (f32(N) O)
transpose(f32(N, M) I) -> (f32(M, N) O)
every123(f32(N) I) -> (f32((N + 122)/123) O)
later(f32(N) I) -> (f32(1:N + 1) O)
earlier(f32(N) I) -> (f32(N - 5) O)
pairs(f32(N) B) -> (f32(N/2) A)
reversed(f32(N) B) -> (f32(N) A)
reversed10(f32(N) B) -> (f32(max(0, 11 - N):11) A)
halves(f32(N) B) -> (f32(2*N) A)
strided(i32 s, f32(N) B) -> (f32((N - 1)/s + 1) A)
least(f32(A0, A1, A2) A, f32(B0, B1, B2) B) -> (f32(min(A1, B0), min(A2, B1), B2) O)
both(f32(N) B) -> (f32(N, N - 3) A)
--- stderr
a.tc:11:84: warning: 'j' runs as far as the smaller of B0 and A1
  def least(float(A0,A1,A2) A, float(B0,B1,B2) B) -> (O) { O(j,k,l) +=! B(j,k,l)*A(i,j,k) }
                                                                                     ^
a.tc:11:73: note: 'j' is below B0: subscript 'j' of 'B' stays below B0
  def least(float(A0,A1,A2) A, float(B0,B1,B2) B) -> (O) { O(j,k,l) +=! B(j,k,l)*A(i,j,k) }
                                                                          ^
note: if they are the same size, use one name; otherwise write 'where j in 0:min(B0, A1)'
a.tc:11:86: warning: 'k' runs as far as the smaller of B1 and A2
  def least(float(A0,A1,A2) A, float(B0,B1,B2) B) -> (O) { O(j,k,l) +=! B(j,k,l)*A(i,j,k) }
                                                                                       ^
a.tc:11:75: note: 'k' is below B1: subscript 'k' of 'B' stays below B1
  def least(float(A0,A1,A2) A, float(B0,B1,B2) B) -> (O) { O(j,k,l) +=! B(j,k,l)*A(i,j,k) }
                                                                            ^
note: if they are the same size, use one name; otherwise write 'where k in 0:min(B1, A2)'
