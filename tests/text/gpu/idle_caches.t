# Cache operators that describe no load: of the sum of partial results, of a copy in the section of the parts, of an inlined statement.
--- p.tc
def sum(double(K,M) A, double(K,N) B) -> (C) { C(m,n) +=! A(k,m) * B(k,n) }
def two(float(K,M) A) -> (O) {
    C(k,m) = A(k,m) * 2
    O(k,m) = C(k,m) + 1
}
--- result.lws
C: |
    privatise k/3
    cache A streaming
C.part: | m/16:grid.y k.p m:thread.z n:thread.y k
--- parts.lws
C: |
    privatise k/3
    copy A at k.p place shared
C.part: | m/16:grid.y k.p m:thread.z n:thread.y k
    cache A l2
--- inlined.lws
C:
    inline
    cache A l2
O: m:thread.x k
--- reader.lws
C:
    inline
O: m:thread.x k
    cache A l2
$ loopwright run p.tc --def sum --size M=17,N=16,K=21 --device emulate --schedule result.lws --check | tail -1
  check    right: bit for bit, against the interpreter
--- stderr
result.lws:3:11: warning: 'cache' has no effect: another section describes these loads
      cache A streaming
            ^
$ loopwright run p.tc --def sum --size M=17,N=16,K=21 --device emulate --schedule parts.lws --check | tail -1
  check    right: bit for bit, against the interpreter
--- stderr
parts.lws:5:11: warning: 'cache' has no effect: another section describes these loads
      cache A l2
            ^
$ loopwright run p.tc --def two --size M=17,K=21 --device emulate --schedule inlined.lws --check | tail -1
  check    right: bit for bit, against the interpreter
--- stderr
inlined.lws:3:11: warning: 'cache' has no effect: another section describes these loads
      cache A l2
            ^
$ loopwright run p.tc --def two --size M=17,K=21 --device emulate --schedule reader.lws --check | tail -1
  check    right: bit for bit, against the interpreter
