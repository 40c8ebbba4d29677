package tooltest

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"os"
	"slices"
	"testing"
)

// Sweeps reports whether KILN_SWEEP asks for sweeps: for all that tests go through, such as each
// kernel and each architecture. Without it tests take a part in which every operation and every
// type is, on the architectures that differ most.
func Sweeps() bool { return os.Getenv("KILN_SWEEP") == "each" || Whole() }

// Whole reports whether KILN_SWEEP=all asks for every combination, too, such as each kernel for
// each architecture. With KILN_SWEEP=each a combination that takes long is left out where others
// have what it is of.
func Whole() bool { return os.Getenv("KILN_SWEEP") == "all" }

// Sweep skips a test that has a representative elsewhere unless KILN_SWEEP asks for it.
func Sweep(t testing.TB, representative string) {
	t.Helper()
	if !Sweeps() {
		t.Skipf("KILN_SWEEP=each asks for it; otherwise there is %s", representative)
	}
}

// Hash is what decides which parts of a test run, of their names: it does not depend on which others
// there are.
func Hash(name string) uint64 {
	h := fnv.New64()
	fmt.Fprintf(h, "%q", name)
	return h.Sum64() >> 32
}

// Some returns a part of a list, in its order, that has all values of any of it, such as operations and
// types: those with a value that none has whose name has a lower hash. Another one thus takes the
// place of such that have a value in common with it.
func Some[T any](list []T, name func(T) string, values func(T) []string) []T {
	order := make([]int, len(list))
	hashes := make([]uint64, len(list))
	for i, x := range list {
		order[i], hashes[i] = i, Hash(name(x))
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(hashes[a], hashes[b]), cmp.Compare(a, b)) })
	had := map[string]bool{}
	var chosen []int
	for _, i := range order {
		before := len(had)
		for _, v := range values(list[i]) {
			had[v] = true
		}
		if len(had) > before {
			chosen = append(chosen, i)
		}
	}
	slices.Sort(chosen)
	var some []T
	for _, i := range chosen {
		some = append(some, list[i])
	}
	return some
}
