package data

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/gokiln/kiln/tensor"
)

// Pair is a batch on a device: what a network is given, and what it should say.
type Pair struct {
	X, Y *tensor.Tensor
}

// Token is an element type of token numbers.
type Token interface {
	uint8 | int32 | uint32 | int64
}

// Windows is parts of a long text, each a sample of length+1 tokens: the first length are the
// input, and the last length what comes next at each.
type Windows[T Token] struct {
	tokens         []T
	length, stride int
}

// NewWindows returns the windows of tokens that begin every stride tokens. Tokens are not copied. A
// length or a stride below 1, or a text that is shorter than a window, is an error of kind
// [tensor.ErrArgument].
func NewWindows[T Token](tokens []T, length, stride int) (*Windows[T], error) {
	if length < 1 || stride < 1 || len(tokens) <= length {
		return nil, fmt.Errorf("data: windows: %w: %d tokens by %d of a text of %d", tensor.ErrArgument, length, stride, len(tokens))
	}
	return &Windows[T]{tokens: tokens, length: length, stride: stride}, nil
}

// Len is how many windows there are.
func (w *Windows[T]) Len() int { return (len(w.tokens)-w.length-1)/w.stride + 1 }

// Get returns window i, length+1 tokens, which are a part of the text's memory.
func (w *Windows[T]) Get(i int) ([]T, error) {
	from := i * w.stride
	return w.tokens[from : from+w.length+1 : from+w.length+1], nil
}

// NextToken is the collate for [Windows]: X is (batch, length) tokens and Y, of the same shape,
// those that come next. Samples of different lengths, or without tokens, are an error of kind
// [tensor.ErrShape].
func NextToken[T Token](d *tensor.Device) Collate[[]T, Pair] {
	return func(samples [][]T, _ *rand.Rand) (Pair, error) {
		if len(samples) == 0 || len(samples[0]) == 0 {
			return Pair{}, fmt.Errorf("%w: windows without tokens", tensor.ErrShape)
		}
		n := len(samples[0]) - 1
		x, y := make([]T, 0, len(samples)*n), make([]T, 0, len(samples)*n)
		for _, s := range samples {
			if len(s) != n+1 {
				return Pair{}, fmt.Errorf("%w: windows of %d and %d tokens", tensor.ErrShape, n+1, len(s))
			}
			x, y = append(x, s[:n]...), append(y, s[1:]...)
		}
		return pair(tensor.FromOwned(d, x, len(samples), n), tensor.FromOwned(d, y, len(samples), n))
	}
}

// Labeled is a sample for a classifier.
type Labeled struct {
	X     []float32 // an image, say, in row-major order
	Label uint32
}

// NewLabeled returns the samples whose numbers lie one behind the other in x, size each, with a
// label for each. Numbers are not copied. Lengths that do not fit are an error of kind
// [tensor.ErrShape].
func NewLabeled(x []float32, size int, labels []uint32) (Slice[Labeled], error) {
	if size < 1 || len(x) != size*len(labels) {
		return nil, fmt.Errorf("data: labeled: %w: %d numbers for %d samples of %d", tensor.ErrShape, len(x), len(labels), size)
	}
	set := make(Slice[Labeled], len(labels))
	for i, label := range labels {
		set[i] = Labeled{X: x[i*size : (i+1)*size : (i+1)*size], Label: label}
	}
	return set, nil
}

// Classify is the collate for samples with labels: X is (batch, shape…) of type F32, and Y (batch)
// of type U32. A sample that has not the numbers of the shape is an error of kind
// [tensor.ErrShape].
func Classify(d *tensor.Device, shape ...int) Collate[Labeled, Pair] {
	shape = append([]int(nil), shape...)
	size := tensor.Shape(shape).Count()
	return func(samples []Labeled, _ *rand.Rand) (Pair, error) {
		if slices.ContainsFunc(shape, func(n int) bool { return n < 0 }) {
			return Pair{}, fmt.Errorf("%w: samples of shape %v", tensor.ErrShape, shape)
		}
		x, y := make([]float32, 0, len(samples)*size), make([]uint32, 0, len(samples))
		for _, s := range samples {
			if len(s.X) != size {
				return Pair{}, fmt.Errorf("%w: a sample of %d numbers for %v", tensor.ErrShape, len(s.X), shape)
			}
			x, y = append(x, s.X...), append(y, s.Label)
		}
		return pair(tensor.FromOwned(d, x, append([]int{len(samples)}, shape...)...), tensor.FromOwned(d, y, len(samples)))
	}
}

// pair returns tensors as a batch, or the error that one has.
func pair(x, y *tensor.Tensor) (Pair, error) {
	for _, t := range []*tensor.Tensor{x, y} {
		if err := t.Err(); err != nil {
			return Pair{}, err
		}
	}
	return Pair{X: x, Y: y}, nil
}
