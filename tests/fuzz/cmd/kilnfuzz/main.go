package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/gokiln/kiln/tests/fuzz"
	"github.com/gokiln/kiln/tests/fuzz/gen"
	"github.com/gokiln/kiln/tests/fuzz/reduce"
)

func main() {
	n := flag.Int("n", 1000, "number of kernels")
	seed := flag.Uint64("seed", 1, "seed of the first kernel")
	out := flag.String("o", "kilnfuzz", "program to write")
	dir := flag.String("dir", "", "empty directory for the generated module, which is kept; a temporary one if empty")
	llvm := flag.Bool("llvm", false, "have LLVM make PTX of the kernels for sm_90, for a machine without LLVM, and put it at the end of the program")
	show := flag.Bool("print", false, "print the kernel of -seed and build nothing")
	smaller := flag.String("reduce", "", "print the kernel of -seed, made smaller, on which machine code for avx512 or avx2 disagrees with the interpreter, and build nothing")
	flag.Parse()
	if *show {
		fmt.Print(gen.New(*seed).Source)
		return
	}
	if *smaller != "" {
		text, err := reduce.Kernel(gen.New(*seed), *smaller)
		if err != nil {
			fmt.Fprintln(os.Stderr, "kilnfuzz:", err)
			os.Exit(1)
		}
		fmt.Print(text)
		return
	}
	err := build(*seed, *n, *dir, *out)
	if err == nil && *llvm {
		err = appendPTX(*out)
	}
	if err != nil {
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

// appendPTX has the program write down what LLVM would be given, and appends the PTX:
// an archive is found by its end.
func appendPTX(program string) error {
	program, err := filepath.Abs(program)
	if err != nil {
		return fmt.Errorf("place of the program: %w", err)
	}
	dir, err := os.MkdirTemp("", "kilnfuzz")
	if err != nil {
		return fmt.Errorf("directory for PTX: %w", err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "ptx.zip")
	if out, err := exec.Command(program, "-device", "cpu:interp", "-record", file).CombinedOutput(); err != nil {
		return fmt.Errorf("%s -record: %w: %s", program, err, out)
	}
	archive, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(program, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(archive)
	return errors.Join(err, f.Close())
}
