# Unrolling whole and in part, with a shorter last strip, and unroll-and-jam. A guard that holds at one
# iteration only stays inside its loop where it uses the iterator.
--- unroll.teml
A = tensor([5, 2])
B = tensor([5, 2])
B = entrywise_add(A, A)
l = build(B)
whole = unroll(l, 2)
part = unroll(l, 1, 2)
jam = unroll_and_jam(l, 1, 2)
top = unroll(whole, 1, 5)
codegen(whole)
codegen(part)
codegen(jam)
codegen(top)
--- edge.teml
Q = tensor([5, 5])
C = @Q: eq(Q, [i1, i2] -> [i2, i1])
l = build(C)
s = stripmine(l, 2, 2)
j = unroll_and_jam(s, 2, 2)
u = unroll(j, 2)
codegen(u)
$ loopwright teml unroll.teml | sed -n '/^whole/,$p'
whole
  i1 (0, 4, 1)
    B[i1, 0] = A[i1, 0] + A[i1, 0]
    B[i1, 1] = A[i1, 1] + A[i1, 1]
part
  i1_2 (0, 2, 1)
    if 4 - 2*i1_2 >= 0
      i2 (0, 1, 1)
        B[2*i1_2, i2] = A[2*i1_2, i2] + A[2*i1_2, i2]
    if 3 - 2*i1_2 >= 0
      i2 (0, 1, 1)
        B[2*i1_2 + 1, i2] = A[2*i1_2 + 1, i2] + A[2*i1_2 + 1, i2]
jam
  i1_2 (0, 2, 1)
    i2 (0, 1, 1)
      if 4 - 2*i1_2 >= 0
        B[2*i1_2, i2] = A[2*i1_2, i2] + A[2*i1_2, i2]
      if 3 - 2*i1_2 >= 0
        B[2*i1_2 + 1, i2] = A[2*i1_2 + 1, i2] + A[2*i1_2 + 1, i2]
top
  i1_5 (0, 0, 1)
    B[5*i1_5, 0] = A[5*i1_5, 0] + A[5*i1_5, 0]
    B[5*i1_5, 1] = A[5*i1_5, 1] + A[5*i1_5, 1]
    B[5*i1_5 + 1, 0] = A[5*i1_5 + 1, 0] + A[5*i1_5 + 1, 0]
    B[5*i1_5 + 1, 1] = A[5*i1_5 + 1, 1] + A[5*i1_5 + 1, 1]
    B[5*i1_5 + 2, 0] = A[5*i1_5 + 2, 0] + A[5*i1_5 + 2, 0]
    B[5*i1_5 + 2, 1] = A[5*i1_5 + 2, 1] + A[5*i1_5 + 2, 1]
    B[5*i1_5 + 3, 0] = A[5*i1_5 + 3, 0] + A[5*i1_5 + 3, 0]
    B[5*i1_5 + 3, 1] = A[5*i1_5 + 3, 1] + A[5*i1_5 + 3, 1]
    B[5*i1_5 + 4, 0] = A[5*i1_5 + 4, 0] + A[5*i1_5 + 4, 0]
    B[5*i1_5 + 4, 1] = A[5*i1_5 + 4, 1] + A[5*i1_5 + 4, 1]
$ for f in whole part jam top; do loopwright run unroll.teml --def $f --check | grep check; done
  check    right: bit for bit, against the interpreter
  check    right: bit for bit, against the interpreter
  check    right: bit for bit, against the interpreter
  check    right: bit for bit, against the interpreter
$ loopwright run edge.teml --check | grep check
  check    right: bit for bit, against the interpreter
