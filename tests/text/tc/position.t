# '=' may write at positions that are read at run time, if an index that decides one is a subscript of its own: a cache that one row, or some, is put into.
--- kv.tc
def row(int() pos, float(D) k, float(D) q) -> (float(S,D) KC, O) {
    KC(pos,d) = k(d)
    O(t) +=! q(d) * KC(t,d)
}
def rows(int() pos, float x) -> (float(S) KC) {
    KC(pos + t) = x + t where t in 0:2
}
def batch(int(B) pos, float(B,T) k) -> (float(B,S) KC) {
    KC(b,pos(b) + t) = k(b,t)
}
def apart(int(B) pos, float(B) k) -> (float(S) KC) {
    KC(pos(b) + b) = k(b)
}
def twice(int() pos, float(T,D) k) -> (float(S,D) KC) {
    KC(pos + t/2,d) = k(t,d)
}
$ loopwright check kv.tc
row(i32() pos, f32(D) k, f32(D) q) -> (inout f32(S, D) KC, f32(S) O)
rows(i32() pos, f32 x) -> (inout f32(S) KC)
batch(i32(B) pos, f32(B, T) k) -> (inout f32(B, S) KC)
apart(i32(B) pos, f32(B) k) -> (inout f32(S) KC)
twice(i32() pos, f32(T, D) k) -> (inout f32(S, D) KC)
$ loopwright run kv.tc --def rows --size S=6 --arg pos=3 --arg x=1 --backend interp | tail -1
           [0, 0, 0, 1, 2, 0]
$ loopwright run kv.tc --def rows --size S=6 --arg pos=3 --arg x=1 | tail -1
           [0, 0, 0, 1, 2, 0]
$ loopwright run kv.tc --def rows --size S=6 --arg pos=3 --arg x=1 --backend c | tail -1
           [0, 0, 0, 1, 2, 0]
$ loopwright run kv.tc --def rows --size S=6 --arg pos=5 --arg x=1
--- stderr
kv.tc:6:5: error: statement 'KC': subscript 1 of 'KC' is t + pos[] = 6 at t = 1, outside [0, 6)
      KC(pos + t) = x + t where t in 0:2
      ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
note: pos[] is 5
--- exit 1
$ loopwright check kv.tc --def twice --size D=1,S=6,T=2
twice(i32() pos, f32(T, D) k) -> (inout f32(S, D) KC)
--- stderr
kv.tc:15:5: error: could not prove that '=' writes each element of 'KC' only once
      KC(pos + t/2,d) = k(t,d)
      ^~~~~~~~~~~~~~~~~~~~~~~~
--- exit 1
$ @/tests/npy write pos.npy '<i4' 3 2 0 3 && @/tests/npy write k.npy '<f4' 3,2 1 2 3 4 5 6
$ for b in interp jit c; do loopwright run kv.tc --def batch --size S=5 --in pos=pos.npy --in k=k.npy --backend $b | tail -1; done
           [0, 0, 1, 2, 0, 3, ...]
           [0, 0, 1, 2, 0, 3, ...]
           [0, 0, 1, 2, 0, 3, ...]
$ loopwright run kv.tc --def batch --size S=4 --in pos=pos.npy --in k=k.npy
--- stderr
kv.tc:9:5: error: statement 'KC': subscript 2 of 'KC' is t + pos[b] = 4 at b = 2, t = 1, outside [0, 4)
      KC(b,pos(b) + t) = k(b,t)
      ^~~~~~~~~~~~~~~~~~~~~~~~~
note: pos[2] is 3
--- exit 1
$ loopwright check kv.tc --def apart --size B=3,S=6
apart(i32(B) pos, f32(B) k) -> (inout f32(S) KC)
--- stderr
kv.tc:12:5: error: could not prove that '=' writes each element of 'KC' only once
      KC(pos(b) + b) = k(b)
      ^~~~~~~~~~~~~~~~~~~~~
--- exit 1
