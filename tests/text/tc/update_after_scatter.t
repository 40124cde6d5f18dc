# An update in place takes its range from the statements before it, whatever they write with.
--- u.tc
def conv(float(N) A, float(K) W) -> (O) {
    O(i+k) +=! A(i) * W(k)
    O(h) = max(O(h), 0)
}
def weave(float(N,H) A, float(N,H) B) -> (O) {
    O(2*i,h) = A(i,h)
    O(2*i + 1,h) = B(i,h)
    O(j,h) *= 2
}
def holes(float(N) A) -> (O) {
    O(2*i) = A(i)
    O(h) = max(O(h), 0)
}
$ loopwright check u.tc
conv(f32(N) A, f32(K) W) -> (f32(N + K - 1) O)
weave(f32(N, H) A, f32(N, H) B) -> (f32(2*N, H) O)
holes(f32(N) A) -> (f32(2*N - 1) O)
$ @/tests/npy write a.npy '<f4' 3 1 -10 2 && @/tests/npy write w.npy '<f4' 2 3 1
$ for b in interp jit c; do loopwright run u.tc --def conv --in A=a.npy --in W=w.npy --backend $b | tail -1; done
           [3, 0, 0, 2]
           [3, 0, 0, 2]
           [3, 0, 0, 2]
$ loopwright run u.tc --def weave --size N=9,H=5 --check | tail -1
  check    right: up to rounding, against the interpreter
$ loopwright check u.tc --def holes --size N=3
holes(f32(N) A) -> (f32(2*N - 1) O)
--- stderr
u.tc:12:5: error: statement 'O.1' reads O[1] at h = 1, which no earlier statement writes
      O(h) = max(O(h), 0)
      ^~~~~~~~~~~~~~~~~~~
u.tc:11:5: note: 'O' is first defined here, with fewer elements than are read
      O(2*i) = A(i)
      ^~~~~~~~~~~~~
note: if the caller's content is meant, declare the shape of 'O' in TC, or declare it inout in program text
--- exit 1
