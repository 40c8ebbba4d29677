package image

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/internal/devlog"
)

// Entries are offsets in the code, [None] for those that there are not.
type Entries struct {
	Rows    int `json:"rows"`
	General int `json:"general"`
}

// Image is a kernel in machine code.
type Image struct {
	Kernel  string `json:"kernel"` // its name in the module
	ISA     string `json:"isa"`    // level of x86-64 that the code needs: "x86-64-v3" or "x86-64-v4"
	Warp    int    `json:"warp"`   // threads of a vector
	Rows    int    `json:"rows"`   // offset in Code of the entry for the mapping by rows
	General int    `json:"general"`
	// VNNI are entries for processors that have dot products of bytes besides the level:
	// AVX512_VNNI with x86-64-v4, AVX_VNNI with x86-64-v3. It is nil for a kernel that has
	// no use for them. Both are in the code, so that the code is the same everywhere.
	VNNI *Entries `json:"vnni,omitempty"`
	// Pairs are likewise those for processors with dot products of pairs of bfloat16, too: AVX512_BF16.
	Pairs *Entries `json:"pairs,omitempty"`
	// Tiles are likewise those for processors that have tile registers and their products: AMX_TILE,
	// AMX_BF16 and AMX_INT8. They configure the registers and release them.
	Tiles *Entries `json:"tiles,omitempty"`
	// FrameSize is the memory of a warp for spilled registers and local arrays, a
	// multiple of 64 bytes. With Barriers each warp of a block has a frame of its
	// own, one after the other; without, all use the same.
	FrameSize int  `json:"frame"`
	Barriers  bool `json:"barriers,omitempty"`
	// WarpOps says that threads of a warp communicate: blocks must be whole warps. A
	// kernel that only asks for the number of its lane has two entries, and takes any.
	WarpOps bool `json:"warpops,omitempty"`
	Shared  int  `json:"shared"` // bytes of shared memory of a block
	// Length says how many elements the array has that a launch sizes. It begins at the
	// next multiple of ContextAlign behind Shared; nil if there is none.
	Length *ir.Length `json:"length,omitempty"`
	Local  int        `json:"local"`           // bytes of a thread in FrameSize
	Args   int        `json:"args"`            // bytes of the argument block, without padding at its end
	Sites  []Site     `json:"sites,omitempty"` // where the kernel can fail

	// Code is the machine code and its constants. Entries and constants may be
	// anywhere in it; it is loaded at a multiple of 64 bytes at least.
	Code []byte `json:"-"`
}

// ErrInterp says that a kernel gets no native code: the interpreter has to run it.
var ErrInterp = errors.New("the kernel runs on the interpreter")

// None is the offset of an entry that an image does not have.
const None = -1

// Site is a check in the code.
type Site struct {
	Check devlog.Check `json:"check"`          // which rule was broken; zero is an index out of range
	Text  string       `json:"text,omitempty"` // message of an assertion
	Pos   int          `json:"pos"`            // in the table of the module, from 1; 0 if unknown
}

// Message says what went wrong, in the words of Go's runtime. The values are those
// of the check: an index and a length.
func (s *Site) Message(x, y int64) string {
	switch s.Check {
	case devlog.Nil:
		return devlog.NilPointer
	case devlog.Assert, devlog.AssertOne, devlog.AssertTwo:
		return s.Check.AssertedOf(s.Text, x, y)
	case devlog.Divide:
		return devlog.DividedByZero(x)
	case devlog.Shift:
		return devlog.NegativeShift(x)
	}
	return s.Check.OutOfRange(x, y)
}

const (
	magic     = "kilnx86\x01"
	prefix    = len(magic) + 12 // lengths of header and code, checksum
	codeAlign = 64

	maxFrame  = 1 << 30
	maxShared = 1 << 30
)

// Encode returns the container of the image.
func (m *Image) Encode() ([]byte, error) {
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("native code of %s: %w", m.Kernel, err)
	}
	header, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("native code of %s: %w", m.Kernel, err)
	}
	out := make([]byte, 0, prefix+len(header)+len(m.Code)+codeAlign)
	out = append(out, magic...)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(header)))
	out = binary.LittleEndian.AppendUint32(out, uint32(len(m.Code)))
	out = binary.LittleEndian.AppendUint32(out, 0)
	out = append(out, header...)
	for len(out)%codeAlign != 0 {
		out = append(out, 0)
	}
	out = append(out, m.Code...)
	binary.LittleEndian.PutUint32(out[prefix-4:], sum(out))
	return out, nil
}

// sum is the checksum of a container, of which the field for it does not count.
func sum(data []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Checksum(data[:prefix-4], table), table, data[prefix:])
}

// Decode reads a container. Code of the image is a part of data.
func Decode(data []byte) (*Image, error) {
	if len(data) < len(magic) || string(data[:len(magic)-1]) != magic[:len(magic)-1] {
		return nil, errors.New("this is not native code made by kiln")
	}
	if data[len(magic)-1] != magic[len(magic)-1] {
		return nil, fmt.Errorf("native code in version %d of its format, this program reads version %d: compile the kernel again",
			data[len(magic)-1], magic[len(magic)-1])
	}
	if len(data) < prefix {
		return nil, errDamaged
	}
	words := data[len(magic):prefix]
	header, code := int64(binary.LittleEndian.Uint32(words)), int64(binary.LittleEndian.Uint32(words[4:]))
	start := (int64(prefix) + header + codeAlign - 1) / codeAlign * codeAlign
	if start+code != int64(len(data)) || binary.LittleEndian.Uint32(words[8:]) != sum(data) {
		return nil, errDamaged
	}
	m := new(Image)
	if err := json.Unmarshal(data[prefix:int64(prefix)+header], m); err != nil {
		return nil, fmt.Errorf("header of native code: %w", err)
	}
	m.Code = data[start:]
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("native code of %s: %w", m.Kernel, err)
	}
	return m, nil
}

var errDamaged = errors.New("native code is damaged: its checksum is wrong")

// warps has the levels of x86-64 that code can be for, with their vectors.
var warps = map[string]int{"x86-64-v3": 8, "x86-64-v4": 16}

// check looks for what would make a call go wrong.
func (m *Image) check() error {
	switch w, known := warps[m.ISA]; {
	case !known:
		return fmt.Errorf("unknown instruction set %q", m.ISA)
	case m.Warp != w:
		return fmt.Errorf("%d threads in a vector, %s has %d", m.Warp, m.ISA, w)
	case m.Rows == None && m.General == None:
		return errors.New("no entry")
	case !m.inside(m.Rows) || !m.inside(m.General):
		return fmt.Errorf("entries at %d and %d of %d bytes of code", m.Rows, m.General, len(m.Code))
	case !m.fits(m.VNNI):
		return fmt.Errorf("entries for VNNI at %d and %d, others at %d and %d, of %d bytes of code", m.VNNI.Rows, m.VNNI.General, m.Rows, m.General, len(m.Code))
	case !m.fits(m.Pairs):
		return fmt.Errorf("entries for AVX512_BF16 at %d and %d, others at %d and %d, of %d bytes of code", m.Pairs.Rows, m.Pairs.General, m.Rows, m.General, len(m.Code))
	case !m.fits(m.Tiles):
		return fmt.Errorf("entries for tile registers at %d and %d, others at %d and %d, of %d bytes of code", m.Tiles.Rows, m.Tiles.General, m.Rows, m.General, len(m.Code))
	case m.FrameSize < 0 || m.FrameSize > maxFrame || m.FrameSize%64 != 0:
		return fmt.Errorf("frame of %d bytes", m.FrameSize)
	case m.Shared < 0 || m.Shared > maxShared || m.Local < 0 || m.Args < 0:
		return fmt.Errorf("%d bytes of shared memory, %d of local variables, %d of arguments", m.Shared, m.Local, m.Args)
	}
	if l := m.Length; l != nil && (l.Size < 1 || l.Size > 8 || l.Elem < 0 || l.Offset < 0 || l.Offset > m.Args-l.Size) {
		return fmt.Errorf("length of shared memory at %d of %d bytes of arguments", l.Offset, m.Args)
	}
	return nil
}

func (m *Image) inside(entry int) bool { return entry == None || entry >= 0 && entry < len(m.Code) }

// fits reports whether entries for some processors are in the code, and there are all that others have.
func (m *Image) fits(e *Entries) bool {
	return e == nil || (e.Rows == None) == (m.Rows == None) && (e.General == None) == (m.General == None) && m.inside(e.Rows) && m.inside(e.General)
}
