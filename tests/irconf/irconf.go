package irconf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/gokiln/kiln/compiler/ir"
)

// Case is a program with its inputs and the contents its buffers must have
// afterwards.
type Case struct {
	Name  string
	Text  string // IR text of a module without calls
	Grid  [3]int
	Block [3]int
	Args  []Arg
	Bufs  [][]byte // contents before
	Want  [][]byte // contents after
	Types []*ir.Type
	Warp  bool // uses warp operations; the block is a multiple of a warp
	// Near, if not nil, says whether element i of buffer 0 may be got where want
	// is the reference.
	Near func(i int, got, want uint64) bool
}

// Arg is a Go argument of the kernel: the whole of buffer Buf as a slice, or the
// bytes of a scalar or struct.
type Arg struct {
	Buf    int // -1 for a scalar or struct
	Scalar []byte
	Align  int // of a struct; a scalar has that of its size
}

// Pack returns the argument block of a launch: each slice as address and length,
// each scalar, at its natural alignment and in order. addr gives the address of a
// buffer.
func (c Case) Pack(addr func(buf int) uint64) []byte {
	var out []byte
	for _, a := range c.Args {
		if a.Buf < 0 {
			align := a.Align
			if align == 0 {
				align = len(a.Scalar)
			}
			for len(out)%align != 0 {
				out = append(out, 0)
			}
			out = append(out, a.Scalar...)
			continue
		}
		for len(out)%8 != 0 {
			out = append(out, 0)
		}
		out = binary.LittleEndian.AppendUint64(out, addr(a.Buf))
		out = binary.LittleEndian.AppendUint64(out, uint64(len(c.Bufs[a.Buf])/c.Types[a.Buf].Size()))
	}
	for len(out)%ir.BlockAlign != 0 {
		out = append(out, 0)
	}
	return out
}

// maxReports bounds how many wrong elements of one buffer are listed.
const maxReports = 5

// Check compares the contents of all buffers after a run with what they must be.
func (c Case) Check(got [][]byte) error {
	if len(got) != len(c.Want) {
		return fmt.Errorf("%s: %d buffers, want %d", c.Name, len(got), len(c.Want))
	}
	var errs []error
	for i, want := range c.Want {
		if len(got[i]) != len(want) {
			errs = append(errs, fmt.Errorf("%s: buffer %d has %d bytes, want %d", c.Name, i, len(got[i]), len(want)))
			continue
		}
		errs = append(errs, c.compare(i, got[i], want)...)
	}
	return errors.Join(errs...)
}

func (c Case) compare(buf int, got, want []byte) []error {
	var errs []error
	t := c.Types[buf]
	size := t.Size()
	for at := 0; at < len(want) && len(errs) < maxReports; at += size {
		g, w := got[at:at+size], want[at:at+size]
		if bytes.Equal(g, w) || isNaN(t, read(g)) && isNaN(t, read(w)) {
			continue
		}
		if buf == 0 && c.Near != nil && c.Near(at/size, read(g), read(w)) {
			continue
		}
		errs = append(errs, fmt.Errorf("%s: buffer %d element %d is %s, want %s%s", c.Name, buf, at/size,
			ir.ConstText(t, ir.Normalize(t, read(g))), ir.ConstText(t, ir.Normalize(t, read(w))), c.inputs(buf, at/size)))
	}
	return errs
}

// inputs lists the elements of the other buffers at the same index, which for the
// programs of scalar operations are the operands.
func (c Case) inputs(buf, i int) string {
	out := ""
	for j, b := range c.Bufs {
		if t := c.Types[j]; j != buf && (i+1)*t.Size() <= len(b) {
			bits := read(b[i*t.Size() : (i+1)*t.Size()])
			out += fmt.Sprintf("; buffer %d has %s (%#x)", j, ir.ConstText(t, ir.Normalize(t, bits)), bits)
		}
	}
	return out
}

func isNaN(t *ir.Type, bits uint64) bool {
	switch t.Kind {
	case ir.KF16:
		return bits&0x7fff > 0x7c00
	case ir.KBF16:
		return bits&0x7fff > 0x7f80
	case ir.KF32:
		x := math.Float32frombits(uint32(bits))
		return x != x
	case ir.KF64:
		x := math.Float64frombits(bits)
		return x != x
	}
	return false
}

// read returns the little-endian number in b.
func read(b []byte) uint64 {
	var v uint64
	for i, x := range b {
		v |= uint64(x) << (8 * i)
	}
	return v
}

// encode returns values as memory of elements of type t.
func encode(t *ir.Type, values []uint64) []byte {
	out := make([]byte, 0, len(values)*t.Size())
	for _, v := range values {
		for i := range t.Size() {
			out = append(out, byte(v>>(8*i)))
		}
	}
	return out
}

// Cases returns every case for devices with warps of 32 threads, in an order that does
// not change.
func Cases() []Case { return CasesFor(32) }

// CasesFor returns every case for devices with warps of 32 or of 64 threads.
func CasesFor(warp int) []Case {
	out := append(scalarCases(), programCases(warp)...)
	for i := range out {
		out[i].Text = number(out[i].Text)
	}
	return out
}
