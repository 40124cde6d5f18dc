# Help that a person can learn from, on standard output, status 0.
$ loopwright --help
loopwright 0.1.0: a tensor compiler

usage: loopwright COMMAND FILE [options]

  check    check a file and print what was inferred
  show     print a file in one of the compiler's own text forms
  space    what may be decided about a function, and what follows
  run      run a function on data and summarise the results
  tune     find the fastest schedule of a function by measuring
  compile  write a function as a file that stands alone
  einsum   compute an einsum over .npy files
  db       the tuning database, looked at and kept in order
  machine  measure and print what this machine can do
  bench    measure programs against the machine and against other libraries
  report   a page of charts from what was measured
  explain  a page about one program: decisions, loops, code, and why it is as fast
  demo     four programs from text to the speed of this machine, in under a minute

`loopwright COMMAND --help` explains a command with examples. A first program, mv.tc:

  def mv(float(M,K) A, float(K) x) -> (C) {
      C(m) +=! A(m,k) * x(k)
  }

  loopwright check mv.tc                      what are the ranges and types?
  loopwright run mv.tc --size M=4,K=3         compute it on random data

Files are told by their extension: .tc (tensor comprehensions), .lwp (Program text), .lwg
(dataflow graph), .stripe (Stripe). Exit status: 0 success, 1 something is wrong with the
input, 2 the command line is wrong.
$ loopwright run --help
usage: loopwright run FILE [options]

run: run a function on data and summarise the results.

Inputs come from .npy files (--in) or are random: floats uniform in [-1, 1), integers small,
subscripts inside what they index. Sizes that the given arrays tell need no --size. Scalar
arguments are numbers (--arg), rank-0 .npy files (--in), or for integers --size. A result that is
also read starts from zeros unless --in gives its old content.

  loopwright run mv.tc --size M=4,K=3
  loopwright run mv.tc --in A=a.npy --in x=x.npy --out C=c.npy
  loopwright run matmul.tc --size M=512,N=512,K=512 --schedule matmul.lws --time
  loopwright run sgemm.tc --size M=8,N=8,K=8 --arg a=2.5 --arg b=1 --seed 7 --json

options:
  --size N=8,M=4     values of sizes and of integer scalar arguments
  --def NAME         the function to take, where the file has several
  --schedule S.lws   how to run it: a Schedule, or naive: as written; otherwise one is chosen
  --in A=a.npy       an input, or the old content of an in-out result
  --arg a=2.5        a scalar argument as a number
  --out C=c.npy      write a result to a .npy file
  --seed S           seed of what is random (0)
  --backend B        interp, tree, c or jit; the default is the best there is
  --threads N        for parallel loops; the default is LW_THREADS or all processors
  --isa ISA          at most this instruction set: scalar, avx2 or avx512
  --db FILE          the database of tuned schedules; none: without one
  --lang LANG        its language, tc, lwp, lwg or stripe, whatever the file is called
  --check            compare with the interpreter, on small integers, as tune does
  --time             measure: many runs, their median and spread
  --strict           warnings are errors
  --as-written       run the loops of a Stripe file as its text has them
  --unproven         accept a Stripe program that is not proven (unsafe)
  --unchecked-index  skip run-time checks of indices from data (unsafe)
  --unchecked        --unproven and --unchecked-index (unsafe)
  --trace            time of each step, to standard error
  --json             one JSON object on standard output
  --help             this text
$ loopwright help einsum
usage: loopwright einsum SUBSCRIPTS FILE... [options]

einsum: compute an einsum over .npy files.

NumPy's notation: implicit or explicit result, ellipsis, repeated labels, any number of operands.
--out takes just a file name here.

  loopwright einsum 'mk,kn->mn' a.npy b.npy --out c.npy
  loopwright einsum 'mk,kn->mn' a.npy b.npy --time
  loopwright einsum 'ii' a.npy                 the trace of a matrix

options:
  --schedule S.lws   how to run it: a Schedule, or naive: as written; otherwise one is chosen
  --out c.npy        write a result to a .npy file
  --backend B        interp, tree, c or jit; the default is the best there is
  --threads N        for parallel loops; the default is LW_THREADS or all processors
  --isa ISA          at most this instruction set: scalar, avx2 or avx512
  --db FILE          the database of tuned schedules; none: without one
  --time             measure: many runs, their median and spread
  --trace            time of each step, to standard error
  --json             one JSON object on standard output
  --help             this text
$ loopwright --version
loopwright 0.1.0
