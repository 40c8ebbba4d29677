package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/gokiln/kiln/quantized"
	"github.com/gokiln/kiln/quantized/format"
	"github.com/gokiln/kiln/tensor"
)

// common are the formats that most published models are in, one of each way of reading blocks.
var common = []format.Type{format.Q8_0, format.Q4_0, format.Q4_K, format.Q6_K, format.MXFP4, format.IQ4_XS}

// blockSizes are the sizes of the operations on block formats: those of a layer of a network of 8 G
// parameters, or a small one.
type blockSizes struct {
	dt      tensor.DType // of activations and of results
	n, k    int
	few     int // rows
	many    []int
	rotated int // bytes of all copies of a weight together
	search  int // elements that are quantized on the host
	rows    int // of a table
}

func blockSizesOf(small bool) blockSizes {
	if small {
		return blockSizes{tensor.F32, 2048, 4096, 8, []int{16, 32, 128, 512}, 96 << 20, 1 << 16, 16384}
	}
	return blockSizes{tensor.BF16, 14336, 4096, 8, []int{512, 2048}, 256 << 20, 1 << 17, 65536}
}

// quantizeds are operations on block formats. Products of few rows read the blocks of the weight,
// which are their bytes; those of many rows are compared with the product of a dense weight.
func quantizeds(d *tensor.Device, small bool) (list []work) {
	z := blockSizesOf(small)
	list = append(list, z.dense(d)...)
	for _, t := range format.Types() {
		if t.IsQuantized() {
			list = append(list, z.of(d, t)...)
		}
	}
	return list
}

// dense are the products that those of many rows are compared with.
func (z blockSizes) dense(d *tensor.Device) (list []work) {
	for _, m := range z.many {
		list = append(list, work{
			name:  z.product("dense linear", m, z.n, z.k),
			flops: 2 * float64(m) * float64(z.n) * float64(z.k),
			op: lazily(func() (func() error, error) {
				x, w := tensor.Randn(d, z.dt, 0, 1, m, z.k), tensor.Randn(d, z.dt, 0, 1, z.n, z.k)
				return func() error { return done(x.Linear(w, nil)) }, nil
			}),
		})
	}
	return list
}

func (z blockSizes) product(name string, m, n, k int) string {
	return fmt.Sprintf("%s %dx%dx%d %s", name, m, n, k, z.dt)
}

// of are the operations on one format.
func (z blockSizes) of(d *tensor.Device, t format.Type) []work {
	w := &weights{d: d, of: t, bytes: z.n * z.k / elems(t) * blockBytes(t), rotated: z.rotated}
	list := []work{z.linear(w, "", 1, z.n, z.k), z.linear(w, "", 1, z.k, z.n)}
	if slices.Contains(common, t) {
		list = append(list, z.linear(w, "", z.few, z.n, z.k))
		for _, m := range z.many {
			many := z.linear(w, "", m, z.n, z.k)
			many.bytes, many.flops = 0, 2*float64(m)*float64(z.n)*float64(z.k)
			many.beside = z.product("dense linear", m, z.n, z.k)
			list = append(list, many)
		}
		list = append(list, z.embedding(w))
	}
	list = append(list, z.strategies(w)...)
	return append(list, z.dequantize(w), z.quantize(d, t))
}

func elems(t format.Type) int {
	info, _ := t.Info() // of a format that there is
	return info.Elems
}

func blockBytes(t format.Type) int {
	info, _ := t.Info()
	return info.Bytes
}

// weights are copies of the blocks of one weight, of which each call takes the next: together they are
// several times as large as a cache of the device, so that each is read from memory.
type weights struct {
	d              *tensor.Device
	of             format.Type
	bytes, rotated int

	once   sync.Once
	copies []*tensor.Tensor
	err    error
}

// in are the copies in a shape of as many elements.
func (w *weights) in(shape ...int) ([]*quantized.Tensor, error) {
	w.once.Do(w.make)
	var list []*quantized.Tensor
	for _, c := range w.copies {
		q := quantized.FromTensor(w.of, c, shape...)
		if err := q.Err(); err != nil {
			return nil, err
		}
		list = append(list, q)
	}
	return list, w.err
}

// make makes the copies: a few blocks again and again, as a search over a code book is slow.
func (w *weights) make() {
	blocks, err := someBlocks(w.of)
	if err != nil {
		w.err = err
		return
	}
	data := make([]byte, w.bytes)
	for at := 0; at < len(data); {
		at += copy(data[at:], blocks)
	}
	first := tensor.FromBytes(w.d, tensor.U8, data)
	w.copies = []*tensor.Tensor{first}
	for len(w.copies)*w.bytes < w.rotated {
		w.copies = append(w.copies, first.Copy())
	}
}

// someBlocks are normal numbers as blocks.
func someBlocks(t format.Type) ([]byte, error) {
	const cols, rows = 1024, 16
	rng := rand.New(rand.NewPCG(1, 2))
	x, importance := make([]float32, cols*rows), []float32(nil)
	for i := range x {
		x[i] = float32(rng.NormFloat64()) / 64 // as weights are
	}
	if !t.Quantizes(false) {
		importance = make([]float32, cols)
		for i := range importance {
			importance[i] = rng.Float32() + 0.5
		}
	}
	out := make([]byte, len(x)/elems(t)*blockBytes(t))
	return out, format.Quantize(out, x, cols, t, importance)
}

// next returns a function that returns the elements of a list in turn.
func next[T any](list []T) func() T {
	i := -1
	return func() T {
		i = (i + 1) % len(list)
		return list[i]
	}
}

// strategies are the products of few rows by each strategy that a device of this kind has.
func (z blockSizes) strategies(w *weights) (list []work) {
	if w.d.Kind() == "cpu" {
		return nil // it has one
	}
	for _, m := range []int{1, z.few} {
		for _, by := range quantized.LinearStrategies(m) {
			list = append(list, z.linear(w, by, m, z.n, z.k), z.linear(w, by, m, z.k, z.n))
		}
	}
	return list
}

// linear multiplies m rows with a weight of n rows of k elements, by a strategy or the best one.
func (z blockSizes) linear(w *weights, by string, m, n, k int) work {
	name := fmt.Sprintf("%s and %s", z.product("quantized linear", m, n, k), w.of)
	if by != "" {
		name += " by " + by
	}
	return work{
		name:  name,
		bytes: float64(w.bytes),
		graph: m <= z.few,
		op: lazily(func() (func() error, error) {
			list, err := w.in(n, k)
			x, weight := tensor.Randn(w.d, z.dt, 0, 1, m, k), next(list)
			return func() error { return done(weight().LinearBy(by, x)) }, err
		}),
	}
}

func (z blockSizes) dequantize(w *weights) work {
	return work{
		name:  fmt.Sprintf("dequantize %s to %s", w.of, z.dt),
		bytes: float64(w.bytes + z.dt.Bytes(z.n*z.k)),
		op: lazily(func() (func() error, error) {
			list, err := w.in(z.n, z.k)
			weight := next(list)
			return func() error { return done(weight().Dequantize(z.dt)) }, err
		}),
	}
}

// embedding reads an eighth of the rows of a table, at indices drawn at random.
func (z blockSizes) embedding(w *weights) work {
	rows := z.rows / 8
	size := z.k / elems(w.of) * blockBytes(w.of)
	return work{
		name:  fmt.Sprintf("embedding of %d rows of %d in %s to %s", rows, z.k, w.of, z.dt),
		bytes: float64(rows * (size + z.dt.Bytes(z.k))),
		op: lazily(func() (func() error, error) {
			all := &weights{d: w.d, of: w.of, bytes: z.rows * size}
			list, err := all.in(z.rows, z.k)
			if err != nil {
				return nil, err
			}
			ids := tensor.Rand(w.d, tensor.F32, 0, float64(z.rows), rows).Floor().Cast(tensor.I64)
			return func() error { return done(list[0].Embedding(ids, z.dt)) }, nil
		}),
	}
}

// quantize makes blocks of F32: of fewer elements where the host does it.
func (z blockSizes) quantize(d *tensor.Device, t format.Type) work {
	name, n := fmt.Sprintf("quantize f32 to %s", t), z.n*z.k
	f, _ := t.Block() // of a format that has blocks
	if _, ok := f.(format.HostQuantizer); ok {
		n = z.search // on the host
	}
	return work{
		name:  name,
		elems: float64(n),
		op: lazily(func() (func() error, error) {
			x, importance := tensor.Randn(d, tensor.F32, 0, 1, n/z.k, z.k), (*tensor.Tensor)(nil)
			if !t.Quantizes(false) {
				importance = tensor.Rand(d, tensor.F32, 0.5, 1.5, z.k)
			}
			return func() error {
				q := quantized.QuantizeImportant(x, t, importance)
				if err := q.Err(); err != nil {
					return err
				}
				return q.Free()
			}, nil
		}),
	}
}
