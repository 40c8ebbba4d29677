// Mutate measures what the tests notice: it makes small wrong changes to the code (mutants), one
// at a time, and runs the tests of each. A mutant that no test notices is a survivor.
//
//	go run ./internal/mutate -n 200                     # a sample of the packages that have a suite
//	go run ./internal/mutate -n 20 ./compiler/pass      # of one package
//	go run ./internal/mutate -n 20 -apart ./ops/rows/kernels # of kernels
//	go run ./internal/mutate -only 'ops/rows/kernels/fold.go together drop "t.Sync()"'
//	go run ./internal/mutate -list ./jit                # names all mutants, runs none
//
// The model:
//
//   - A mutant is a replacement of a few bytes of one file: a comparison or an arithmetic operator
//     by another, a condition by its negation, an integer by the next one, a call or an assignment
//     by nothing. It is named by file, function, change and text, which stay when lines move.
//   - The tree is never edited. The go command gets the changed files as an overlay, by GOFLAGS, so
//     that programs that tests build are changed too.
//   - The mutants of a sample are compiled together: a function with mutants begins with a copy of
//     its body for each, and a variable of the environment chooses one. So each program of tests
//     is built once. Its first run is without a mutant; it has to pass, and records which of those
//     functions it calls. A mutant is tried with the programs that call its function.
//   - With -apart or -only a mutant is compiled by itself. That is needed for kernels, whose source
//     the compiler reads (embedded files are changed too), and for functions with labels.
//   - suites.go says which tests are for a package. They run in order until one fails: the mutant is
//     killed, and the test is named. The short tests of the mutant's own package come first. A time
//     limit kills as well, since a loop without end is noticed. What does not compile is no mutant,
//     and another one is drawn. If the go command fails and no test does, its output is printed and
//     the mutant counts for nothing.
//   - survivors.txt lists survivors with the reason why no test can or need notice them. The command
//     fails if a survivor is not in it.
//
// The sample is the same for the same seed and the same code. With seed 16, and after the tests
// that its survivors led to; of three more the code was pointless and is gone, which counts as
// killed:
//
//	packages                    tried  killed  survive, with a reason  without one
//	cache/...                      34      30                       4            0
//	compiler/ir                    32      30                       2            0
//	compiler/interp                33      32                       1            0
//	compiler/front                 33      32                       1            0
//	compiler/pass                  33      32                       1            0
//	compiler/analysis              20      20                       0            0
//	dsl, -apart                     8       8                       0            0
//	kernels of ops, -apart          5       5                       0            0
//	cache/..., seed 18              4       4                       0            0
package main
