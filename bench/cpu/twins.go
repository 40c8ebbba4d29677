package main

import (
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"unsafe"

	"github.com/gokiln/kiln/internal/dl"
)

//go:embed c
var sources embed.FS

// way is how the twins are compiled.
type way struct {
	name  string
	flags []string
}

// ways are the columns of the table; the first is the peer.
var ways = []way{
	{"clang", []string{"-ffp-contract=off"}},
	{"512", []string{"-ffp-contract=off", "-mprefer-vector-width=512"}},
	{"fast", []string{"-ffast-math"}},
}

// library holds the twins, compiled one way.
type library struct {
	way
	dl.Lib
}

// compileTwins makes a shared library of each way in dir and opens it.
func compileTwins(c config, dir string) ([]library, error) {
	if _, err := exec.LookPath(c.clang); err != nil {
		return nil, fmt.Errorf("no %s to compile the twins with; name another by -clang: %w", c.clang, err)
	}
	if err := os.CopyFS(dir, sources); err != nil {
		return nil, fmt.Errorf("sources of the twins: %w", err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "c", "*.c"))
	if err != nil {
		return nil, err // the pattern is wrong
	}
	march := "-march=native"
	if c.isa == "avx2" {
		march = "-march=x86-64-v3"
	}
	var libs []library
	for _, w := range ways {
		out := filepath.Join(dir, w.name+".so")
		args := slices.Concat([]string{"-std=gnu11", "-O3", march, "-fopenmp-simd", "-fveclib=libmvec", "-fno-math-errno"}, w.flags,
			[]string{"-shared", "-fPIC", "-w", "-o", out}, files, []string{"-lmvec", "-lm"})
		if text, err := exec.Command(c.clang, args...).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s %s: %w\n%s", c.clang, strings.Join(args, " "), err, text)
		}
		lib, err := dl.Open(out)
		if err != nil {
			return nil, fmt.Errorf("twins compiled as %s: %w", w.name, err)
		}
		libs = append(libs, library{w, lib})
	}
	return libs, nil
}

// twin returns a call of a twin with an argument block.
func (l library) twin(symbol string, block []byte) (func() error, error) {
	fn, err := l.Sym(symbol)
	if err != nil {
		return nil, fmt.Errorf("twin %s compiled as %s: %w", symbol, l.name, err)
	}
	args := []uintptr{uintptr(unsafe.Pointer(unsafe.SliceData(block)))} // Go's heap does not move
	return func() error {
		dl.Call(fn, args)
		_ = block[0] // and block lives as long as the call
		return nil
	}, nil
}
