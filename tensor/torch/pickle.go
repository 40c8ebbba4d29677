package torch

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/gokiln/kiln/tensor/file"
)

// batch is how many items of a dictionary one instruction sets, in Python's pickle.
const batch = 1000

// pickler writes a program of protocol 2, with the instructions that Python's pickle writes for the
// same values: what was built before is taken from the memo where Python has the same object.
type pickler struct {
	b    []byte
	memo map[string]int // of texts and names of Python, by what they are
	next int            // index in the memo
}

func newPickler() *pickler { return &pickler{b: []byte("\x80\x02"), memo: map[string]int{}} }

// put keeps the value on the top of the stack under the next index.
func (p *pickler) put() {
	if p.next < 256 {
		p.b = append(p.b, 'q', byte(p.next))
	} else {
		p.b = binary.LittleEndian.AppendUint32(append(p.b, 'r'), uint32(p.next))
	}
	p.next++
}

// once pushes a value that there is one of: from the memo, or as build does and into the memo.
func (p *pickler) once(key string, build func()) {
	switch i, ok := p.memo[key]; {
	case !ok:
		build()
		p.memo[key] = p.next
		p.put()
	case i < 256:
		p.b = append(p.b, 'h', byte(i))
	default:
		p.b = binary.LittleEndian.AppendUint32(append(p.b, 'j'), uint32(i))
	}
}

// global pushes a name of Python.
func (p *pickler) global(module, name string) {
	p.once("c"+module+"\n"+name, func() { p.b = append(p.b, "c"+module+"\n"+name+"\n"...) })
}

// text pushes a string. Python has one object for each constant of a program, and new ones for what
// it makes.
func (p *pickler) text(s string) {
	build := func() {
		p.b = binary.LittleEndian.AppendUint32(append(p.b, 'X'), uint32(len(s)))
		p.b = append(p.b, s...)
	}
	if s == storageTag || s == cpu {
		p.once("X"+s, build)
		return
	}
	build()
	p.put()
}

const (
	storageTag = "storage"
	cpu        = "cpu"
)

// int pushes an integer that is not negative.
func (p *pickler) int(n int64) {
	le := binary.LittleEndian
	switch {
	case n <= math.MaxUint8:
		p.b = append(p.b, 'K', byte(n))
	case n <= math.MaxUint16:
		p.b = le.AppendUint16(append(p.b, 'M'), uint16(n))
	case n <= math.MaxInt32:
		p.b = le.AppendUint32(append(p.b, 'J'), uint32(n))
	default:
		var b []byte
		for rest := n; ; rest >>= 8 {
			b = append(b, byte(rest))
			if rest < 0x80 { // and so the sign is right
				break
			}
		}
		p.b = append(append(p.b, 0x8a, byte(len(b))), b...)
	}
}

// ints pushes a tuple of integers.
func (p *pickler) ints(list []int64) {
	if len(list) == 0 {
		p.b = append(p.b, ')')
		return
	}
	if len(list) > 3 {
		p.b = append(p.b, '(')
	}
	for _, n := range list {
		p.int(n)
	}
	if len(list) > 3 {
		p.b = append(p.b, 't')
	} else {
		p.b = append(p.b, 0x84+byte(len(list)))
	}
	p.put()
}

// dict pushes an empty OrderedDict.
func (p *pickler) dict() {
	p.global("collections", "OrderedDict")
	p.b = append(p.b, ")R"...)
	p.put()
}

// beforeItem and afterItem stand around item i of n of a dictionary: items are set in batches, and
// the only one of a batch by itself.
func (p *pickler) beforeItem(i, n int) {
	if i%batch == 0 && n-i > 1 {
		p.b = append(p.b, '(')
	}
}

func (p *pickler) afterItem(i, n int) {
	switch last := i == n-1; {
	case last && i%batch == 0:
		p.b = append(p.b, 's')
	case last || i%batch == batch-1:
		p.b = append(p.b, 'u')
	}
}

// tensor pushes a tensor of storage number i.
func (p *pickler) tensor(i int, e *file.Entry) error {
	c, err := classOf(e)
	if err != nil {
		return err
	}
	rebuild, storage, count := "_rebuild_tensor_v2", c.storage, int64(e.Layout.Count())
	if storage == "" {
		rebuild, count = "_rebuild_tensor_v3", e.Size() // in bytes
	}
	p.global("torch._utils", rebuild)
	p.b = append(p.b, "(("...)
	p.text(storageTag)
	if storage == "" {
		p.global("torch.storage", untyped)
	} else {
		p.global("torch", storage)
	}
	p.text(strconv.Itoa(i))
	p.text(cpu)
	p.int(count)
	p.b = append(p.b, 't')
	p.put()
	p.b = append(p.b, 'Q')
	p.int(0) // the first element
	sizes, strides := rowMajor(e)
	p.ints(sizes)
	p.ints(strides)
	p.b = append(p.b, 0x89) // it requires no gradient
	p.dict()                // of hooks
	if storage == "" {
		p.global("torch", c.dtype)
	}
	p.b = append(p.b, 't')
	p.put()
	p.b = append(p.b, 'R')
	p.put()
	return nil
}

// rowMajor is the sizes of a tensor, and the strides that PyTorch has for them.
func rowMajor(e *file.Entry) (sizes, strides []int64) {
	shape := e.Shape()
	sizes, strides = make([]int64, len(shape)), make([]int64, len(shape))
	next := int64(1)
	for i := len(shape) - 1; i >= 0; i-- {
		sizes[i], strides[i] = int64(shape[i]), next
		next *= int64(max(shape[i], 1))
	}
	return sizes, strides
}
