package torch_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/gokiln/kiln/tensor/file"
	"github.com/gokiln/kiln/tensor/torch"
)

// FuzzRead reads anything as a file, and all that it finds.
func FuzzRead(f *testing.F) {
	f.Add(legacy(tensor(oldStorage("ByteStorage", "0", 4, tup(str("v"), num(1), num(2))), 0, ints(2), ints(1)), "0", 4, four))
	f.Add(pack(f, tensor(storage("CharStorage", "0", 4), 0, ints(2, 2), ints(1, 2)), "m/data/0", four))
	f.Fuzz(func(t *testing.T, b []byte) {
		set, err := read(b)
		checkAll(t, set, err, len(b))
	})
}

// FuzzProgram runs anything as a program.
func FuzzProgram(f *testing.F) {
	for _, value := range []string{
		dict(str("w"), tensor(storage("HalfStorage", "0", 2), 0, ints(2), ints(1))),
		call(ordered, list(tup(num(1), typed("0", 4, 0, ints(2), ints(1), "uint16")))),
		list(tup(none, num(1<<40), "C\x01x", "G\x00\x00\x00\x00\x00\x00\x00\x00"), "K\x01\x94h\x00", ")\x85\x86", "(K\x01K\x02d"),
		call(glob("torch._utils", "_rebuild_parameter"), tensor(oldStorage("CharStorage", "0", 4, tup(str("v"), num(1), num(2))), 1, ints(), ints())),
	} {
		f.Add([]byte(program(value)))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		set, err := torch.Run(b, []byte(four))
		checkAll(t, set, err, len(b))
	})
}

// checkAll demands that errors have a position, reads all tensors, and writes them.
func checkAll(t *testing.T, set *file.Set, err error, size int) {
	t.Helper()
	var fault *file.Error
	if err != nil {
		if !errors.As(err, &fault) || fault.Offset > int64(size) {
			t.Fatalf("in %d bytes: %v", size, err)
		}
		return
	}
	for e := range set.All() {
		if e.DType.Valid() && e.Size() > 1<<20 { // elements that repeat
			continue
		}
		if _, err := e.WriteTo(io.Discard); err != nil && !errors.As(err, &fault) {
			t.Fatal(err)
		}
	}
	checkWriting(t, set)
}

// checkWriting demands that what is written is read again as it was.
func checkWriting(t *testing.T, set *file.Set) {
	t.Helper()
	var list []*file.Entry
	for e := range set.All() {
		if e.DType.Valid() && e.Size() <= 1<<20 {
			list = append(list, e)
		}
	}
	var b bytes.Buffer
	var fault *file.Error
	if err := torch.Write(&b, list...); err != nil {
		if !errors.As(err, &fault) {
			t.Fatal(err)
		}
		return
	}
	again, err := read(b.Bytes())
	if err != nil || again.Len() != len(list) {
		t.Fatal(err, list, again)
	}
	for i, name := range again.Names() {
		e := get(t, again, name)
		if name != list[i].Name || e.Stored != list[i].Stored && list[i].Stored != "torch.uint16" &&
			list[i].Stored != "torch.uint64" || !e.Shape().Equal(list[i].Shape()) {
			t.Fatalf("%q %s %v, want %q %s %v", name, e.Stored, e.Shape(), list[i].Name, list[i].Stored,
				list[i].Shape())
		}
	}
}
