package fuzz

import (
	"embed"
	"fmt"
	"strconv"
	"strings"

	"github.com/gokiln/kiln/tests/fuzz/gen"
)

//go:embed testdata/*.go
var testdata embed.FS

// Regressions returns the kernels that failed once, from testdata. The first
// line of a file says how to launch its kernel:
//
//	//fuzz: name=KLoopVar blocks=1,1,1 threads=32,1,1 lens=32,0
//
// lens are the lengths of the parameters after the Thread, 0 for a scalar. Names
// of all files share a package.
func Regressions() ([]gen.Kernel, error) {
	files, err := testdata.ReadDir("testdata")
	if err != nil {
		return nil, fmt.Errorf("reading regressions: %w", err)
	}
	var list []gen.Kernel
	for i, f := range files {
		text, err := testdata.ReadFile("testdata/" + f.Name())
		if err != nil {
			return nil, fmt.Errorf("reading regressions: %w", err)
		}
		k, err := parseRegression(string(text))
		if err != nil {
			return nil, fmt.Errorf("testdata/%s: %w", f.Name(), err)
		}
		k.Seed = uint64(i) + 1<<40 // apart from those of generated kernels
		list = append(list, k)
	}
	return list, nil
}

func parseRegression(text string) (gen.Kernel, error) {
	var k gen.Kernel
	head, rest, _ := strings.Cut(text, "\n")
	spec, ok := strings.CutPrefix(head, "//fuzz: ")
	if !ok {
		return k, fmt.Errorf("the first line is not //fuzz: name=… blocks=… threads=… lens=…")
	}
	_, k.Source, ok = strings.Cut(rest, "package testdata\n")
	if !ok {
		return k, fmt.Errorf("the file has no line `package testdata`")
	}
	for _, item := range strings.Fields(spec) {
		key, value, _ := strings.Cut(item, "=")
		if key == "name" {
			k.Name = value
			continue
		}
		numbers, err := parseInts(value)
		if err != nil {
			return k, fmt.Errorf("%s: %w", item, err)
		}
		switch {
		case key == "lens":
			k.Lens = numbers
		case key == "blocks" && len(numbers) == 3:
			k.Blocks = [3]int(numbers)
		case key == "threads" && len(numbers) == 3:
			k.Threads = [3]int(numbers)
		default:
			return k, fmt.Errorf("%s: want name, lens, or blocks or threads with three numbers", item)
		}
	}
	if k.Name == "" || k.Lens == nil || k.Blocks[0] == 0 || k.Threads[0] == 0 {
		return k, fmt.Errorf("%s: name, blocks, threads and lens are all needed", head)
	}
	return k, nil
}

func parseInts(text string) ([]int, error) {
	var list []int
	for _, s := range strings.Split(text, ",") {
		n, err := strconv.Atoi(s)
		if err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return list, nil
}
