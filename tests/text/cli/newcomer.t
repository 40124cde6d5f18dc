# What people run into in their first hour.
--- two.tc
def good(float(M,K) A) -> (s) { s(m) +=! A(m,k) }
def bad(float(M,K) A) -> (s) { s(m) +=! A(m,k) * B(k) }
def fine(float(N) A) -> (b) { b(i) = A(i) * 2 }
--- mm.tc
def mm(float(M,K) A, float(K,N) B) -> (C) {
    C(m,n) +=! A(m,k) * B(k,n)
}
--- emb.tc
def emb(float(V,D) T, int32(N) at) -> (o) { o(n,d) = T(at(n),d) }
--- scan.tc
def scan(float(N) x) -> (y) {
    y(i) = x(i) where i in 0:1
    y(i) = y(i-1) + x(i) where i in 1:N
}
--- running.tc
def scan(float(T) X) -> (y) { y(t) +=! s <= t ? X(s) : 0.0 where t in 0:T }
--- conv.lwg
graph conv
dim H
dim K = 3
%x = read X f32 [H]
%v = view %x [Ho, K] where H = Ho + K, size(Ho) = size(H) - 2
%s = add %v [Ho]
%y = write Y %s [Ho]
--- q.lws
C: m q n:v k
--- order.lws
C: k:v m n
--- at.lws
b: w h/2 h
    at h
o: h w
--- blur.tc
def blur(float(H,W) I) -> (o) {
    b(h,w) = I(h,w) + I(h,w+1) where w in 0:W-1
    o(h,w) = b(h,w) * b(h+1,w) where h in 0:H-1, w in 0:W-1
}
--- power.tc
def power(float(N) x) -> (y) { y(i) = pow(x(i), 0.5) }
$ loopwright check two.tc
good(f32(M, K) A) -> (f32(M) s)
fine(f32(N) A) -> (f32(N) b)
--- stderr
two.tc:2:50: error: no tensor or function named 'B'
  def bad(float(M,K) A) -> (s) { s(m) +=! A(m,k) * B(k) }
                                                   ^~~~
note: declare it as a parameter, or define it by an earlier statement
--- exit 1
$ loopwright check two.tc --def good
good(f32(M, K) A) -> (f32(M) s)
--- stderr
note: other functions of 'two.tc' have errors: loopwright check shows them
$ loopwright check - < mm.tc
mm(f32(M, K) A, f32(K, N) B) -> (f32(M, N) C)
$ loopwright check - --lang lwg < conv.lwg 2>&1 | head -1
<stdin>:5:15: error: unknown dimension 'Ho'
$ loopwright check conv.lwg
--- stderr
conv.lwg:5:15: error: unknown dimension 'Ho'
  %v = view %x [Ho, K] where H = Ho + K, size(Ho) = size(H) - 2
                ^~
note: declare it above, 'dim Ho', or with its size, 'dim Ho = 3'
--- exit 1
$ loopwright check scan.tc
--- stderr
scan.tc:3:12: error: a statement may not read other elements of the tensor that it defines: 'y' is read here
      y(i) = y(i-1) + x(i) where i in 1:N
             ^~~~~~
note: if one element is computed from another, say in which order: 'for t in 1:N { y(t) = ... }'
note: to read what 'y' held before, compute into another tensor
--- exit 1
$ loopwright check running.tc
scan(f32(T) X) -> (f32(T) y)
$ LW_THREADS=abc loopwright run mm.tc --size M=2,N=2,K=2
--- stderr
error: LW_THREADS is 'abc'; it must be a number of threads from 1 to 1024
--- exit 1
$ loopwright show mm.tc --size M=8,N=8,K=8 --stage tree --schedule q.lws
--- stderr
q.lws:1:6: error: no iterator 'q' in statement 'C'
  C: m q n:v k
       ^
note: there are 'm', 'n' and 'k'
--- exit 1
$ loopwright run emb.tc --size V=0,D=4,N=3
--- stderr
emb.tc:1:45: error: statement 'o': subscript 1 of 'T' is at[n] = 2 at n = 0, d = 0, outside [0, 0)
  def emb(float(V,D) T, int32(N) at) -> (o) { o(n,d) = T(at(n),d) }
                                              ^~~~~~~~~~~~~~~~~~~
note: at[0] is 2
note: 'T' has no elements along that dimension: no subscript is inside
--- exit 1
$ loopwright space mm.tc --size M=8,N=8,K=8 --schedule order.lws --samples 2 | tail -1
open             0 decisions
--- stderr
order.lws:1:1: warning: 'C': its order cannot be expressed in this space and is left open
  C: k:v m n
  ^
note: order(C.k.0, C.m.0) = OUTER cannot be
note: order(C.k.0, C.m.0) loses OUTER: src/space/cpu.space:{{[0-9]+}}, kind($d) is not VECTOR || order($d, $e) is INNER with $d = C.k.0, $e = C.m.0
$ loopwright space blur.tc --size H=8,W=9 --schedule at.lws --samples 2 | tail -1
open             0 decisions
$ loopwright compile mm.tc --size M=4,N=4,K=4 --emit c -o f.c && loopwright compile mm.tc --size M=4,N=4,K=4 --emit obj -o f.o
--- stderr
error: 'f.h' declares code of another kind, which has other prototypes; name another file
--- exit 1
$ loopwright compile mm.tc --size M=4,N=4,K=4 --emit obj -o g.o && loopwright compile mm.tc --size M=4,N=4,K=4 --emit so -o g.so && ls g.*
g.h
g.o
g.so
$ @/tests/npy write x.npy '<f4' 2 -90 4 && loopwright run power.tc --in x=x.npy > jit && loopwright run power.tc --in x=x.npy --backend interp > interp && cat jit interp | grep -c -e '-nan, 2'
2
