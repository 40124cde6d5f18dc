Operands of a sum are widened before they meet an operand of another narrow type; written conversions stay.
--- w.tc
def squares(u8(K) W, i8(K) A) -> (T) { T +=! W(k) * W(k) * A(k) }
def scaled(half(K) W, int(K) A, int(K) B) -> (T) { T +=! W(k) * (A(k) + B(k)) }
def quotient(i8(K) W, float(K) A) -> (T) { T +=! A(k) * (W(k) / W(k)) }
def written(i8(K) W, int(K) A) -> (T) { T +=! int(W(k) * W(k)) * A(k) }
$ for f in squares scaled quotient written; do loopwright show w.tc --def $f --stage program | grep +=; done
        T[] +=! i32(W[k])*i32(W[k])*i32(A[k])
        T[] +=! f32(W[k])*f32(A[k] + B[k])
        T[] +=! A[k]*f32(i32(W[k])/i32(W[k]))
        T[] +=! i32(W[k]*W[k])*A[k]
