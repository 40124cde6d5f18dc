# A guarded read bounds an index only where its guard does not keep it inside anyway.
--- g.tc
def first(float(N) A) -> (O) { O(i) = i > 0 ? A(i) - A(i - 1) : A(i) }
def last(float(N) A) -> (O) { O(i) = i == N - 1 ? A(i) : A(i + 1) - A(i) }
def both(float(N) A) -> (O) { O(i) = A(i) + (i >= 1 && i + 1 < N ? A(i - 1) + A(i + 1) : 0.0) }
def either(float(N) A) -> (O) { O(i) = i == 0 || i == N - 1 ? A(i) : A(i - 1) + A(i + 1) }
def data(float(N) A, bool(N) B) -> (O) { O(i) = B(i) ? A(i - 1) : A(i) }
def smallest(float(N,M) A) -> (O) { O(i) = A(i, min(i, 6)) }
$ loopwright check g.tc
first(f32(N) A) -> (f32(N) O)
last(f32(N) A) -> (f32(N) O)
both(f32(N) A) -> (f32(N) O)
either(f32(N) A) -> (f32(N) O)
data(f32(N) A, bool(N) B) -> (f32(1:N) O)
smallest(f32(N, M) A) -> (f32(N) O)
--- stderr
g.tc:5:58: warning: subscript 'i - 1' of 'A' keeps 'i' from reaching all of 'B': it leaves out 1 element
  def data(float(N) A, bool(N) B) -> (O) { O(i) = B(i) ? A(i - 1) : A(i) }
                                                           ^~~~~
note: choose sizes that agree, or say with a 'where' what the range is
$ loopwright check g.tc --def data --size N=3
data(f32(N) A, bool(N) B) -> (f32(1:N) O)
  with N = 3:
  in    f32(3) A
  in    bool(3) B
  out   f32(1:3) O
--- stderr
g.tc:5:58: warning: subscript 'i - 1' of 'A' keeps 'i' from reaching all of 'B': it leaves out 1 element
  def data(float(N) A, bool(N) B) -> (O) { O(i) = B(i) ? A(i - 1) : A(i) }
                                                           ^~~~~
note: choose sizes that agree, or say with a 'where' what the range is
$ loopwright check g.tc --def smallest --size N=30,M=7
smallest(f32(N, M) A) -> (f32(N) O)
  with N = 30, M = 7:
  in    f32(30, 7) A
  out   f32(30) O
--- stderr
g.tc:5:58: warning: subscript 'i - 1' of 'A' keeps 'i' from reaching all of 'B': it leaves out 1 element
  def data(float(N) A, bool(N) B) -> (O) { O(i) = B(i) ? A(i - 1) : A(i) }
                                                           ^~~~~
note: choose sizes that agree, or say with a 'where' what the range is
$ loopwright check g.tc --def smallest --size N=30,M=6
smallest(f32(N, M) A) -> (f32(N) O)
--- stderr
g.tc:5:58: warning: subscript 'i - 1' of 'A' keeps 'i' from reaching all of 'B': it leaves out 1 element
  def data(float(N) A, bool(N) B) -> (O) { O(i) = B(i) ? A(i - 1) : A(i) }
                                                           ^~~~~
note: choose sizes that agree, or say with a 'where' what the range is
g.tc:6:49: error: M - min(6, N - 1) - 1 >= 0 must hold with N = 30, M = 6, but it is -1
  def smallest(float(N,M) A) -> (O) { O(i) = A(i, min(i, 6)) }
                                                  ^~~~~~~~~
note: so that subscript 'min(i, 6)' of 'A' stays below M
--- exit 1
