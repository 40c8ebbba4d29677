package data

import (
	"fmt"
	"math/bits"
	"math/rand/v2"

	"github.com/gokiln/kiln/tensor"
)

// Dataset is samples by number. Get is called by several goroutines at the same time.
type Dataset[S any] interface {
	// Len is how many samples there are.
	Len() int
	// Get returns sample i, from 0 to Len()-1.
	Get(i int) (S, error)
}

// Slice is samples in memory.
type Slice[S any] []S

// Len is how many samples there are.
func (s Slice[S]) Len() int { return len(s) }

// Get returns sample i.
func (s Slice[S]) Get(i int) (S, error) { return s[i], nil }

type function[S any] struct {
	n   int
	get func(i int) (S, error)
}

func (f function[S]) Len() int             { return f.n }
func (f function[S]) Get(i int) (S, error) { return f.get(i) }
func (s subset[S]) Len() int               { return len(s.indices) }
func (s subset[S]) Get(i int) (S, error)   { return s.of.Get(s.indices[i]) }

// Func is n samples that a function returns: read from a file, say, or made.
func Func[S any](n int, get func(i int) (S, error)) Dataset[S] { return function[S]{n: n, get: get} }

type subset[S any] struct {
	of      Dataset[S]
	indices []int
}

// Subset is the samples of a dataset at indices, in their order. One that is out of range is an
// error of kind [tensor.ErrRange].
func Subset[S any](of Dataset[S], indices []int) (Dataset[S], error) {
	for _, i := range indices {
		if i < 0 || i >= of.Len() {
			return nil, fmt.Errorf("data: subset: %w: sample %d of %d", tensor.ErrRange, i, of.Len())
		}
	}
	return subset[S]{of: of, indices: append([]int(nil), indices...)}, nil
}

// Split divides a dataset at random into one of n samples, which is often held out for tests, and
// the rest. The same seed gives the same parts. An n that is below 0 or beyond the dataset is an
// error of kind [tensor.ErrRange].
func Split[S any](of Dataset[S], n int, seed uint64) (part, rest Dataset[S], err error) {
	if n < 0 || n > of.Len() {
		return nil, nil, fmt.Errorf("data: split: %w: %d samples of %d", tensor.ErrRange, n, of.Len())
	}
	order := shuffled(of.Len(), seed, 0)
	return subset[S]{of: of, indices: order[:n]}, subset[S]{of: of, indices: order[n:]}, nil
}

// shuffled is the numbers below n in the order of an epoch: the shuffle of Fisher and Yates with
// numbers of PCG (O'Neill, 2014). It is written out here because checkpoints depend on it, and
// package rand promises the generator's numbers, not those that are drawn from them.
func shuffled(n int, seed, epoch uint64) []int {
	r := rand.NewPCG(seed, epoch)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	for i := n - 1; i > 0; i-- {
		j, _ := bits.Mul64(r.Uint64(), uint64(i+1))
		order[i], order[j] = order[j], order[i]
	}
	return order
}
