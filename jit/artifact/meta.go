package artifact

import (
	"github.com/gokiln/kiln/compiler/code"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/internal/plainjson"
)

// The functions of this file read meta data where it is plain JSON, as nearly all is. For the
// rest, such as kernels that write to the device log, they report false.

func (m *sourceMeta) read(text string) bool {
	return plainjson.Read(text, func(r *plainjson.Reader) {
		r.Object(func(name string) {
			switch name {
			case "ir":
				m.IR = r.String()
			case "spec_bytes":
				m.Spec = r.Int()
			default:
				r.Fail()
			}
		})
	})
}

func readMeta(text string, m *code.Meta) bool {
	return plainjson.Read(text, func(r *plainjson.Reader) {
		r.Object(func(name string) {
			switch name {
			case "kernel":
				m.Kernel = r.String()
			case "entry":
				m.Entry = r.String()
			case "target":
				m.Target = r.String()
			case "format":
				m.Format = r.String()
			case "args":
				readArgs(r, m)
			case "shared":
				m.Shared = r.Int()
			case "dynamic":
				m.Dynamic = r.Int()
			case "length":
				m.Length = readLength(r)
			case "overlaps":
				m.Overlaps = r.Bool()
			case "warp":
				m.Warp = r.Bool()
			case "threads":
				m.Threads = r.Int()
			case "interpreted":
				m.Interpreted = r.String()
			default:
				r.Fail()
			}
		})
	})
}

func readLength(r *plainjson.Reader) *ir.Length {
	l := new(ir.Length)
	r.Object(func(name string) {
		switch name {
		case "offset":
			l.Offset = r.Int()
		case "size":
			l.Size = r.Int()
		case "signed":
			l.Signed = r.Bool()
		case "elem":
			l.Elem = r.Int()
		default:
			r.Fail()
		}
	})
	return l
}

func readArgs(r *plainjson.Reader, m *code.Meta) {
	if m.Args != nil {
		r.Fail()
		return
	}
	m.Args = make([]code.Arg, 0, 4)
	r.Array(func() {
		var a code.Arg
		r.Object(func(name string) {
			switch name {
			case "name":
				a.Name = r.String()
			case "go":
				a.Go = r.String()
			case "slice":
				a.Slice = r.Bool()
			case "const":
				a.Const = r.Bool()
			case "size":
				a.Size = r.Int()
			case "written":
				a.Written = r.Bool()
			case "offset":
				a.Offset = r.Int()
			default:
				r.Fail()
			}
		})
		m.Args = append(m.Args, a)
	})
}
