package checkpoint

import (
	"reflect"
	"sync"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/quantized/checkpoint/kernels"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tensor/file"
)

// Kernels by the way in which files pack codes.
var (
	repack = newPackings(kernels.Repack[kernels.Columns])
	zeros  = newPackings(kernels.Zeros[kernels.Columns])
)

// packings is a kernel over ways to pack codes.
type packings struct {
	kernel *jit.Kernel
	typ    reflect.Type
	made   sync.Map // reflect.Type -> *jit.Kernel
}

func newPackings(prototype any) *packings {
	return &packings{kernel: jit.Of(prototype), typ: reflect.TypeOf(prototype)}
}

func (f *packings) of(p kernels.Packing) *jit.Kernel {
	typ := reflect.TypeOf(p)
	if k, ok := f.made.Load(typ); ok {
		return k.(*jit.Kernel)
	}
	params := make([]reflect.Type, f.typ.NumIn())
	for i := range params {
		if params[i] = f.typ.In(i); params[i] == reflect.TypeFor[kernels.Columns]() {
			params[i] = typ
		}
	}
	k, _ := f.made.LoadOrStore(typ, f.kernel.As(reflect.FuncOf(params, nil, false)))
	return k.(*jit.Kernel)
}

// groups are the tensors of a weight of integers with zero points.
type groups struct {
	packing         kernels.Packing
	n, k, bits      int
	size            int // inputs of a group
	more            int // what is added to zero points
	codes, zeros, s *file.Entry
	order           []int32 // of columns, nil if they are in the order of the file
}

// likeAWQ reports whether codes have the shape of AWQ: packed along outputs.
func (l *loader) likeAWQ() bool {
	q, _ := l.set.Get(l.prefix + "qweight")
	s, _ := l.set.Get(l.prefix + "scales")
	return q != nil && s != nil && !l.has("g_idx") &&
		len(q.Shape()) == 2 && len(s.Shape()) == 2 && q.Shape()[1] < s.Shape()[1]
}

// awq reads a weight of AWQ, with codes (k, n/8).
func (l *loader) awq() (*Weight, error) {
	g := &groups{packing: kernels.Interleaved{}, bits: 4}
	if b := l.config.Bits; b != 0 && b != 4 {
		return nil, unsupported("AWQ of %d bits, want 4", b)
	}
	var err error
	if g.codes, err = l.entry("qweight", 2, tensor.I32); err != nil {
		return nil, err
	}
	g.k, g.n = g.codes.Shape()[0], 8*g.codes.Shape()[1]
	if err := l.groupSize(g, nil); err != nil {
		return nil, err
	}
	return l.grouped(g)
}

// gptq reads a weight of GPTQ, with codes (k·bits/32, n).
func (l *loader) gptq() (*Weight, error) {
	g := &groups{packing: kernels.Columns{}, bits: l.config.Bits, more: 1}
	if l.config.ZeroPointV2 {
		g.more = 0
	}
	var err error
	if g.codes, err = l.entry("qweight", 2, tensor.I32); err != nil {
		return nil, err
	}
	var index []int32
	if l.has("g_idx") {
		e, err := l.entry("g_idx", 1, tensor.I32)
		if err != nil {
			return nil, err
		}
		if index, err = file.Values[int32](e); err != nil {
			return nil, err
		}
	}
	if err := g.setSize(len(index)); err != nil {
		return nil, err
	}
	if err := l.groupSize(g, index); err != nil {
		return nil, err
	}
	return l.grouped(g)
}

// setSize finds out the size of the weight, and bits if they are 0, of a g_idx of k inputs, or 0 if
// there is none.
func (g *groups) setSize(k int) error {
	words := int64(g.codes.Shape()[0])
	g.n, g.k = g.codes.Shape()[1], k
	if g.bits == 0 && k > 0 {
		g.bits = int(words * 32 / int64(k))
	}
	switch {
	case g.bits == 0 && k == 0:
		return malformed("without g_idx the bits are not known: Config.Bits says them")
	case integers[g.bits] == nil:
		return unsupported("GPTQ of %d bits, want 2, 3, 4 or 8", g.bits)
	case k == 0:
		g.k = int(words * 32 / int64(g.bits))
	}
	switch {
	case words*32 != int64(g.k)*int64(g.bits):
		return malformed("qweight has %d words for %d inputs of %d bits", words, g.k, g.bits)
	case int64(g.n)*int64(g.bits)%32 != 0:
		return malformed("zero points of %d outputs of %d bits are no whole words", g.n, g.bits)
	}
	return nil
}

// groupSize finds out how many inputs a group has, and which are in it.
func (l *loader) groupSize(g *groups, index []int32) (err error) {
	if g.s, err = l.entry("scales", 2, scaleTypes...); err != nil {
		return err
	}
	many := g.s.Shape()[0]
	switch g.size = l.config.GroupSize; {
	case g.size < -1:
		return malformed("groups of %d inputs", g.size)
	case g.size == -1 || g.size == 0 && many == 1:
		g.size = g.k
	case g.size == 0 && index != nil:
		for _, i := range index {
			if i == 0 {
				g.size++
			}
		}
	case g.size == 0 && g.k%many == 0:
		g.size = g.k / many
	}
	if g.size == 0 || ceil(g.k, g.size) != many {
		return malformed("scales of %d groups for %d inputs in groups of %d",
			many, g.k, g.size)
	}
	g.order, err = sorted(index, g.size, many)
	return err
}

// sorted returns the columns in the order of their groups, nil if they are in this order. All
// groups but the last have as many columns.
func sorted(index []int32, size, many int) ([]int32, error) {
	begin := make([]int, many+1) // how many columns a group has, one further
	inOrder := true
	for i, g := range index {
		if g < 0 || int(g) >= many {
			return nil, malformed("g_idx of input %d is group %d of %d", i, g, many)
		}
		begin[g+1]++
		inOrder = inOrder && int(g) == i/size
	}
	if index == nil || inOrder {
		return nil, nil
	}
	for g := range many {
		if want := min(size, len(index)-g*size); begin[g+1] != want {
			return nil, unsupported("g_idx has %d inputs in group %d, want %d",
				begin[g+1], g, want)
		}
		begin[g+1] += begin[g]
	}
	order := make([]int32, len(index))
	for i, g := range index {
		order[begin[g]] = int32(i)
		begin[g]++
	}
	return order, nil
}

// integers are the schemes of codes with zero points, by their bits.
var integers = map[int]kernels.Scheme{
	2: kernels.Int2{}, 3: kernels.Int3{}, 4: kernels.Int4{}, 8: kernels.Int8{},
}

// grouped makes a weight of groups: its codes lie row after row from now on, in the order of their
// groups, and scales and zero points as the rows.
func (l *loader) grouped(g *groups) (*Weight, error) {
	method := GPTQ
	if _, ok := g.packing.(kernels.Interleaved); ok {
		method = AWQ
	}
	w, err := newWeight(method, integers[g.bits], g.n, g.k)
	if err != nil {
		return nil, err
	}
	if err := w.setBlocks(1, g.size); err != nil {
		return nil, err
	}
	many := w.layout.Across
	if g.s, err = l.shaped("scales", []int{many, g.n}, scaleTypes...); err != nil {
		return nil, err
	}
	g.zeros, err = l.shaped("qzeros", []int{many, int(int64(g.n) * int64(g.bits) / 32)}, tensor.I32)
	if err != nil {
		return nil, err
	}
	if g.order != nil {
		place := make([]int32, len(g.order))
		for i, col := range g.order {
			place[col] = int32(i)
		}
		w.order, w.place = tensor.From(l.dev, g.order), tensor.From(l.dev, place)
	}
	w.fill(l.dev, g)
	return w, nil
}

// fill brings the tensors of groups to the device and puts them into the order of rows.
func (w *Weight) fill(d *tensor.Device, g *groups) {
	n, k, many := w.shape[0], w.shape[1], w.layout.Across
	var order any = runtime.Slice[int32]{}
	if w.order != nil {
		order = w.order
	}
	codes, zero := words(d, g.codes), words(d, g.zeros)
	w.codes = tensor.LaunchInto(tensor.Empty(d, tensor.U32, codes.Count()), repack.of(g.packing),
		gridOf(d, codes.Count()), codes, order, n, k, dsl.ConstInt(g.bits), g.packing)
	w.bytes = tensor.LaunchInto(tensor.Empty(d, tensor.U8, n*many), zeros.of(g.packing),
		gridOf(d, n*many), zero, n, many, g.more, dsl.ConstInt(g.bits), g.packing)
	w.scales = tensor.Load(d, g.s).T().Contiguous()
	for _, t := range []*tensor.Tensor{codes, zero} {
		if t.Err() == nil {
			_ = t.Free() // what became of it is known when the weight is read
		}
	}
}

// words returns the bytes of a tensor of a file, which are whole words, on a device.
func words(d *tensor.Device, e *file.Entry) *tensor.Tensor {
	v, err := e.View()
	if err != nil {
		return tensor.Fail("load", err)
	}
	defer v.Release()
	return tensor.FromBytes(d, tensor.U32, v.Bytes())
}
