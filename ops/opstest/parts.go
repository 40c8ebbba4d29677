package opstest

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// rest is how many parts, of those whose values others had before, Some has one of.
const rest = 8

// All is all parts.
func All() Share { return Share{} }

// OneOf is the first-th of n shares of the parts. Cases and errors are in each.
func OneOf(first, n int) Share { return Share{first: first, of: n} }

// Some is the parts that have a value, such as the operation or the type, that none before has, and
// a few others.
func Some() Share { return Share{of: rest, values: map[string]bool{}} }

// Share is which parts are run, by the hashes of their names: which share a part is in does
// not depend on which others there are. With values it is those parts, too, that have a new one.
type Share struct {
	first, of int
	values    map[string]bool // that parts have had, nil if that does not matter
}

// again is the share of another family, none of whose parts had a value.
func (s Share) again() Share {
	if s.values != nil {
		s.values = map[string]bool{}
	}
	return s
}

func (s Share) has(hash uint64, name string, args []any) bool {
	return s.values != nil && s.new(name, args) || s.of < 2 || hash>>32%uint64(s.of) == uint64(s.first)
}

// new reports whether a part has a value that none before had at its place.
func (s Share) new(name string, args []any) bool {
	before := len(s.values)
	s.values[name] = true
	for i, a := range args {
		s.values[fmt.Sprint(name, i, " ", a)] = true
	}
	return len(s.values) > before
}

// Part is a test of its own inside of the test of a family. Parts run at the same time, as
// what takes long are the compilers of their kernels, once the test around them is
// through: what reports errors at the next synchronisation of the device has to be in
// that. The numbers of a part depend on its name only, not on which others run.
func (b *Bench) Part(t *testing.T, f func(*testing.T, *Bench), name string, args ...any) {
	seed := hash(append([]any{name}, args...))
	if !b.share.has(seed, name, args) {
		return
	}
	t.Run(fmt.Sprintf(name, args...), func(t *testing.T) {
		t.Parallel()
		f(t, &Bench{Device: b.Device, Stream: b.Stream, Rand: rand.New(rand.NewPCG(first(), seed)), without: b.without})
	})
}

// first is half of the seed of all parts, which KILN_OPSTEST_SEED changes: bounds of errors have to
// hold of any numbers.
func first() uint64 {
	n, err := strconv.ParseUint(cmp.Or(os.Getenv("KILN_OPSTEST_SEED"), "1"), 10, 64)
	if err != nil {
		panic("KILN_OPSTEST_SEED: " + err.Error())
	}
	return n
}

// Choice is a number below n that depends on nothing but what a case is of: which cases of a
// product of two tables there are does not change with a new row of either.
func Choice(n int, of ...any) int { return int(hash(of) >> 32 % uint64(n)) }

func hash(of []any) uint64 {
	h := fnv.New64()
	fmt.Fprintf(h, "%q", fmt.Sprintln(of...))
	return h.Sum64()
}
