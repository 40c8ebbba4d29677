package opstest

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/ops/dtype"
)

// All is all parts.
func All() Share { return Share{} }

// OneOf is the first-th of n shares of the parts. Tests of errors are in each.
func OneOf(first, n int) Share { return Share{first: first, n: n} }

// Some is as many parts of each family as it takes to have each value that any of them has, such as
// an operation, a shape and a type, the type with one of the operations.
func Some() Share { return Share{some: true} }

// Few is what [Some] is, with a sixth of the arguments that are no types, such as shapes.
func Few() Share { return Share{some: true, few: true} }

// SomeAnd is what [Some] is, and the first-th of n shares of the others.
func SomeAnd(first, n int) Share { return Share{first: first, n: n, some: true} }

// Share is which parts are run, by the hashes of their names: which share a part is in does
// not depend on which others there are. Of some parts it is those that [tooltest.Some] chooses.
type Share struct {
	first, n int
	some     bool
	few      bool
}

// Takes reports whether a share has a part, for tests that cannot run beside others.
func (b *Bench) Takes(name string, args ...any) bool {
	return b.share.has(hash(append([]any{name}, args...)))
}

// Some reports whether only such parts are run as have all values between them.
func (b *Bench) Some() bool { return b.share.some && b.share.n < 2 }

// chosen returns what a share has of parts that were kept until all are known.
func (s Share) chosen(list []*part) (out []*part) {
	least := some(list, s.few)
	for _, p := range list {
		if s.n > 1 && s.has(p.hash) || slices.Contains(least, p) {
			out = append(out, p)
		}
	}
	return out
}

func (s Share) has(hash uint64) bool { return s.n < 2 || hash>>32%uint64(s.n) == uint64(s.first) }

// part is a test of its own inside of the test of a family.
type part struct {
	name string // with verbs for what it is of
	args []any
	hash uint64
	run  func(*testing.T, *Bench)
}

// values are what a part is of: what its name says, with each argument, or with few, and types.
func (p *part) values(few bool) []string {
	list := []string{p.name}
	for i, a := range p.args {
		switch a.(type) {
		case dtype.DType:
			list = append(list, fmt.Sprint(a))
		default:
			if v := fmt.Sprint(p.name, i, " ", a); !few || tooltest.Hash(v)%6 == 0 {
				list = append(list, v)
			}
		}
	}
	return list
}

// some returns parts that have all values of a list, or few of them.
func some(list []*part, few bool) []*part {
	return tooltest.Some(list, (*part).full, func(p *part) []string { return p.values(few) })
}

func (p *part) full() string { return fmt.Sprintf(p.name, p.args...) }

// Part is a test of its own inside of the test of a family. Parts run at the same time, as
// what takes long are the compilers of their kernels, once the test around them is
// through: what reports errors at the next synchronisation of the device has to be in
// that. The numbers of a part depend on its name only, not on which others run.
func (b *Bench) Part(t *testing.T, f func(*testing.T, *Bench), name string, args ...any) {
	p := &part{name, args, hash(append([]any{name}, args...)), f}
	if b.share.some {
		b.parts = append(b.parts, p)
	} else if b.share.has(p.hash) {
		b.start(t, p)
	}
}

// Always is [Bench.Part] whatever the share: of what an environment variable asks for.
func (b *Bench) Always(t *testing.T, f func(*testing.T, *Bench), name string, args ...any) {
	b.start(t, &part{name, args, hash(append([]any{name}, args...)), f})
}

// start makes a part run once the test around it is through.
func (b *Bench) start(t *testing.T, p *part) {
	t.Run(p.full(), func(t *testing.T) {
		t.Parallel()
		p.run(t, &Bench{Device: b.Device, Stream: b.Stream, Rand: rand.New(rand.NewPCG(first(), p.hash)), without: b.without})
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

// Products is how many random products of matrices KILN_PRODUCTS asks for.
func Products() int {
	n, err := strconv.Atoi(cmp.Or(os.Getenv("KILN_PRODUCTS"), "0"))
	if err != nil {
		panic("KILN_PRODUCTS: " + err.Error())
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
