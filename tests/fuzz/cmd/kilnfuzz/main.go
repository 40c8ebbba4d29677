package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/gokiln/kiln/tests/fuzz"
	"github.com/gokiln/kiln/tests/fuzz/gen"
)

func main() {
	n := flag.Int("n", 1000, "number of kernels")
	seed := flag.Uint64("seed", 1, "seed of the first kernel")
	out := flag.String("o", "kilnfuzz", "program to write")
	dir := flag.String("dir", "", "empty directory for the generated module, which is kept; a temporary one if empty")
	show := flag.Bool("print", false, "print the kernel of -seed and build nothing")
	flag.Parse()
	if *show {
		fmt.Print(gen.New(*seed).Source)
		return
	}
	if err := build(*seed, *n, *dir, *out); err != nil {
		fmt.Fprintln(os.Stderr, "kilnfuzz:", err)
		os.Exit(1)
	}
}

func build(seed uint64, n int, dir, out string) error {
	root, err := fuzz.Root()
	if err != nil {
		return err
	}
	if dir == "" {
		temp, err := os.MkdirTemp("", "kilnfuzz")
		if err != nil {
			return fmt.Errorf("directory for the generated module: %w", err)
		}
		defer os.RemoveAll(temp)
		dir = temp
	}
	kernels, err := fuzz.Regressions()
	if err != nil {
		return err
	}
	return fuzz.Batch{Kernels: append(kernels, fuzz.Generate(seed, n)...), Root: root}.Build(dir, out)
}
