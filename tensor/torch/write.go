package torch

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/tensor/file"
)

// alignment is what storages begin at multiples of in an archive.
const alignment = 64

// folder is what the names of members begin with.
const folder = "archive/"

// WriteFile writes a file, which replaces one of the name when it is whole. See [Write].
func WriteFile(path string, tensors ...*file.Entry) error {
	return file.Create(path, func(w io.Writer) error { return Write(w, tensors...) })
}

// Write writes tensors, which may be those of another file, as torch.save writes a state dict: an
// OrderedDict of tensors by their names, in their order, in a zip archive that PyTorch 1.6 and
// later loads, also with weights_only=True. A single tensor without a name is written as the tensor
// itself. The program is what PyTorch writes, byte for byte. Each tensor has a storage of its own,
// in row-major order, also those that shared one. Tensors of quantized types, and of types that
// PyTorch has not, are errors of kind [file.ErrUnsupported].
func Write(w io.Writer, tensors ...*file.Entry) error {
	pkl, err := pickle(tensors)
	if err != nil {
		return err
	}
	if len(pkl) > MaxProgram {
		return fmt.Errorf("%w: a program of %d bytes, and readers take %d at most; write several files",
			file.ErrUnsupported, len(pkl), MaxProgram)
	}
	out := newPacker(w)
	out.text(program, string(pkl))
	out.text("byteorder", "little")
	for i, e := range tensors {
		out.tensor("data/"+strconv.Itoa(i), e)
	}
	out.text("version", "3\n")
	return out.close()
}

// class is how PyTorch calls an element type.
type class struct {
	storage string // of tensors that have one of their type, "" if their storage has no type
	dtype   string
}

// classes by element type.
var classes = map[dtype.DType]class{
	dtype.F64: {"DoubleStorage", "float64"}, dtype.F32: {"FloatStorage", "float32"},
	dtype.F16: {"HalfStorage", "float16"}, dtype.BF16: {"BFloat16Storage", "bfloat16"},
	dtype.U8: {"ByteStorage", "uint8"}, dtype.I8: {"CharStorage", "int8"},
	dtype.I16: {"ShortStorage", "int16"}, dtype.I32: {"IntStorage", "int32"},
	dtype.I64: {"LongStorage", "int64"}, dtype.U32: {"", "uint32"},
	dtype.F8E4M3: {"", "float8_e4m3fn"}, dtype.F8E5M2: {"", "float8_e5m2"},
	dtype.F8E8M0: {"", "float8_e8m0fnu"},
}

// classOf is that of a tensor. Booleans stay booleans.
func classOf(e *file.Entry) (class, error) {
	if e.Encoding().Kind == file.Bool {
		return class{"BoolStorage", "bool"}, nil
	}
	c, ok := classes[e.DType]
	if !ok {
		return c, unwritable(e, "PyTorch has no type for %s; convert it to a float type first", e.Stored)
	}
	return c, nil
}

func unwritable(e *file.Entry, format string, args ...any) error {
	return &file.Error{Path: e.Path, Offset: e.Offset, Tensor: e.Name, Err: file.ErrUnsupported,
		Detail: fmt.Sprintf(format, args...)}
}

// pickle returns the program that builds the dictionary.
func pickle(tensors []*file.Entry) ([]byte, error) {
	p := newPickler()
	if len(tensors) == 1 && tensors[0].Name == "" {
		if err := p.tensor(0, tensors[0]); err != nil {
			return nil, err
		}
		return append(p.b, '.'), nil
	}
	if len(tensors) > maxTensors {
		return nil, fmt.Errorf("%w: %d tensors, want %d at most", file.ErrUnsupported, len(tensors),
			maxTensors)
	}
	p.dict()
	seen := map[string]bool{}
	for i, e := range tensors {
		switch {
		case seen[e.Name]:
			return nil, unwritable(e, "there are two tensors of this name")
		case !utf8.ValidString(e.Name):
			return nil, unwritable(e, "the name is not UTF-8")
		case len(e.Name) > maxName:
			return nil, unwritable(e, "a name of %d bytes, want %d at most", len(e.Name), maxName)
		}
		seen[e.Name] = true
		p.beforeItem(i, len(tensors))
		p.text(e.Name)
		if err := p.tensor(i, e); err != nil {
			return nil, err
		}
		p.afterItem(i, len(tensors))
	}
	return append(p.b, '.'), nil
}

// packer writes an archive, up to the first error.
type packer struct {
	out    counter
	zip    *zip.Writer
	behind int64 // bytes behind the last member, which are written with the next one
	err    error
}

func newPacker(w io.Writer) *packer {
	p := &packer{out: counter{w: w}}
	p.zip = zip.NewWriter(&p.out)
	return p
}

// counter counts what is written.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

const (
	localHeader  = 30 // bytes of a member in front of its name
	descriptor   = 16 // behind it: a checksum and its sizes
	descriptor64 = 24 // the same for sizes of 64 bits
)

// member writes a member of so many bytes, which begin at a multiple of the alignment.
func (p *packer) member(name string, size int64, write func(io.Writer) error) {
	if p.err == nil {
		p.err = p.zip.Flush()
	}
	if p.err != nil {
		return
	}
	name = folder + name
	h := &zip.FileHeader{Name: name, Method: zip.Store}
	h.Extra = padding(p.out.n + p.behind + localHeader + int64(len(name)))
	w, err := p.zip.CreateHeader(h)
	if err == nil {
		err = write(w)
	}
	p.err = err
	if p.behind = descriptor; size >= math.MaxUint32 {
		p.behind = descriptor64
	}
}

func (p *packer) text(name, text string) {
	p.member(name, int64(len(text)), func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

func (p *packer) tensor(name string, e *file.Entry) {
	p.member(name, e.Size(), func(w io.Writer) error {
		n, err := e.WriteTo(w)
		if err == nil && n != e.Size() {
			err = fmt.Errorf("tensor %q: %d bytes written, want %d: %w", e.Name, n, e.Size(),
				io.ErrShortWrite)
		}
		return err
	})
}

func (p *packer) close() error {
	if p.err == nil {
		p.err = p.zip.Close()
	}
	return p.err
}

// padding is the extra field, as PyTorch has it, that moves what is behind it from a byte to a
// multiple of the alignment.
func padding(at int64) []byte {
	const head = 4
	n := -(at + head) & (alignment - 1)
	b := binary.LittleEndian.AppendUint16([]byte("FB"), uint16(n))
	return append(b, bytes.Repeat([]byte("Z"), int(n))...)
}
