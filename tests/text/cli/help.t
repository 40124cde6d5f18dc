# Help that a person can learn from, on standard output, status 0.
$ loopwright --help
loopwright 0.1.0: a tensor compiler

usage: loopwright COMMAND FILE [options]

  check    check a file and print what was inferred
  show     print a file in one of the compiler's text forms
  space    print the decisions left open about a function and their consequences
  edit     change the loops of a function by actions or by hand, and print its Schedule
  run      run a function on data and summarise the results
  tune     find the fastest schedule of a function by measuring
  compile  write a function as a standalone file
  teml     run a TeML program and print the value of each name
  einsum   compute an einsum over .npy files
  db       inspect and maintain the tuning database
  passes   print the loops that the passes of a machine description make
  simulate simulate the loops on a machine that exists as a description
  machine  measure and print this machine's peak rates, or a description
  bench    compare programs with the machine and with other libraries
  report   write a page of charts from measurements
  explain  write a page about one program: decisions, loops, code, bottlenecks
  demo     take four programs from text to near peak speed in under a minute

`loopwright COMMAND --help` explains a command with examples. A first program, mv.tc:

  def mv(float(M,K) A, float(K) x) -> (C) {
      C(m) +=! A(m,k) * x(k)
  }

  loopwright check mv.tc                      what are the ranges and types?
  loopwright run mv.tc --size M=4,K=3         compute it on random data

The extension of a file selects its language: .tc (tensor comprehensions),
.teml (TeML), .lwp (Program text), .lwg (dataflow graph), .stripe (Stripe).
Exit status: 0 success, 1 an error in the input, 2 an error in the command line.
$ loopwright run --help
usage: loopwright run FILE [options]

run: run a function on data and summarise the results.

Inputs come from .npy files (--in) or are random: floats uniform in [-1, 1), small
integers, and valid indices for subscripts. Sizes follow from the arrays where they
can; --size gives the others. Scalar arguments are numbers (--arg), rank-0 .npy files
(--in) or, for integers, --size. A result that the function also reads starts from
zeros unless --in gives its initial content.

  loopwright run mv.tc --size M=4,K=3
  loopwright run mv.tc --in A=a.npy --in x=x.npy --out C=c.npy
  loopwright run matmul.tc --size M=512,N=512,K=512 --schedule matmul.lws --time
  loopwright run sgemm.tc --size M=8,N=8,K=8 --arg a=2.5 --arg b=1 --seed 7 --json

options:
  --size N=8,M=4     values of sizes and of integer scalar arguments
  --def NAME         the function to use if the file has several
  --schedule S.lws   a Schedule file, or naive for the loops as written (default: chosen)
  --machine M        run the passes of a machine description: avx512, ..., or a file M.lwm
  --mapping OPTIONS  TC's mapping options, such as 'tile(32,32).unroll(4)', or a preset
  --in A=a.npy       an input, or the initial content of an in-out result
  --arg a=2.5        a scalar argument as a number
  --out C=c.npy      write a result to a .npy file
  --seed S           random seed (0)
  --backend B        interp, tree, c or jit (default: the fastest available)
  --threads N        threads of parallel loops (default: LW_THREADS, else all processors)
  --isa ISA          highest instruction set to use: scalar, avx2 or avx512
  --device NAME      a GPU, cuda:0, cuda:1 ..., or emulate, which needs none
  --db FILE          the tuning database; none uses no database
  --lang LANG        language, whatever the file name: tc, lwp, lwg, stripe or teml
  --check            compare with the interpreter on exactly representable data
  --time             time many runs: median and spread
  --strict           treat warnings as errors
  --as-written       run the loops of a Stripe file as its text has them
  --no-path          choose loops for the assignments of a TeML file, without its path
  --unproven         run Stripe or TeML loops whose legality is not proven (unsafe)
  --unchecked-index  skip run-time checks of indices from data (unsafe)
  --unchecked        --unproven, --unchecked-index, and illegal TeML steps (unsafe)
  --trace            print the time of each step to standard error
  --json             print one JSON object
  --help             print this help
$ loopwright help einsum
usage: loopwright einsum SUBSCRIPTS FILE... [options]

einsum: compute an einsum over .npy files.

Takes NumPy's notation: implicit or explicit result, ellipsis, repeated labels, any
number of operands. --out takes just a file name here.

  loopwright einsum 'mk,kn->mn' a.npy b.npy --out c.npy
  loopwright einsum 'mk,kn->mn' a.npy b.npy --time
  loopwright einsum 'ii' a.npy                 the trace of a matrix

options:
  --schedule S.lws   a Schedule file, or naive for the loops as written (default: chosen)
  --machine M        run the passes of a machine description: avx512, ..., or a file M.lwm
  --mapping OPTIONS  TC's mapping options, such as 'tile(32,32).unroll(4)', or a preset
  --out c.npy        write a result to a .npy file
  --backend B        interp, tree, c or jit (default: the fastest available)
  --threads N        threads of parallel loops (default: LW_THREADS, else all processors)
  --isa ISA          highest instruction set to use: scalar, avx2 or avx512
  --device NAME      a GPU, cuda:0, cuda:1 ..., or emulate, which needs none
  --db FILE          the tuning database; none uses no database
  --time             time many runs: median and spread
  --trace            print the time of each step to standard error
  --json             print one JSON object
  --help             print this help
$ loopwright --version
loopwright 0.1.0
