package torch

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/gokiln/kiln/tensor/file"
	"github.com/gokiln/kiln/tensor/internal/archive"
)

// Open opens a file. Of what was saved it has all tensors; with keys those of the
// dictionary that is found by the keys, one within the other, as "state_dict" in a
// checkpoint. A file that is nothing but one tensor has it under the empty name.
func Open(path string, keys ...string) (*file.Set, error) {
	src, err := file.Open(path)
	if err != nil {
		return nil, err
	}
	set, err := Read(src, keys...)
	if err != nil {
		return nil, errors.Join(err, src.Close())
	}
	return set, nil
}

// Read is [Open] of a file.Source. The result closes the source; an error does not.
func Read(src *file.Source, keys ...string) (*file.Set, error) {
	head := make([]byte, 262)
	n, err := src.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return nil, err
	}
	head = head[:n]
	switch {
	case bytes.HasPrefix(head, []byte("PK")):
		return readArchive(src, keys)
	case len(head) == 262 && string(head[257:]) == "ustar":
		return nil, file.Fault(src.Name(), 0, file.ErrUnsupported, "a tar archive, as PyTorch wrote before version 0.2; load it there and save it again")
	case n > 0 && head[0] == 0x80:
		return readLegacy(src, keys)
	case n == 0:
		return nil, file.Fault(src.Name(), 0, file.ErrTruncated, "the file is empty")
	}
	return nil, file.Fault(src.Name(), 0, file.ErrFormat, "no file of PyTorch")
}

const program = "data.pkl"

// zipped is a file that is an archive.
type zipped struct {
	src     *file.Source
	archive *archive.Archive
	prefix  string // of the names of members
	big     bool   // the byte order
}

func readArchive(src *file.Source, keys []string) (*file.Set, error) {
	a, err := archive.Open(src)
	if err != nil {
		return nil, err
	}
	z := &zipped{src: src, archive: a}
	pkl, err := z.find()
	if err != nil {
		return nil, err
	}
	if pkl.Size() > MaxProgram {
		return nil, file.Fault(src.Name(), pkl.Offset, file.ErrUnsupported, "%s has %d bytes, want %d at most", pkl.Name, pkl.Size(), MaxProgram)
	}
	budget := budgetFor(src.Size())
	if !budget.take(int(pkl.Size())) { // it is compressed
		return nil, file.Fault(src.Name(), pkl.Offset, file.ErrUnsupported, "%s has %d bytes, in a file of %d", pkl.Name, pkl.Size(), src.Size())
	}
	if err := z.order(); err != nil {
		return nil, err
	}
	v, err := pkl.View(0, pkl.Size())
	if err != nil {
		return nil, err
	}
	defer v.Release()
	path, base := pkl.Path()
	m := newMachine(path, bytes.NewReader(v.Bytes()), base, pkl.Size(), budget)
	m.storageOf = newStorage
	root, err := m.run()
	if err != nil {
		return nil, err
	}
	if m.at != m.end {
		return nil, file.Fault(path, m.at, file.ErrFormat, "%d bytes behind the program", m.end-m.at)
	}
	c := &collector{set: file.NewSet(src), path: path, name: src.Name(), big: z.big, place: z.place, budget: budget}
	return c.collect(root, keys)
}

// find returns the member that is the program.
func (z *zipped) find() (*archive.Member, error) {
	var found *archive.Member
	same := false
	for _, m := range z.archive.Members {
		prefix, ok := strings.CutSuffix(m.Name, program)
		if !ok || prefix != "" && !strings.HasSuffix(prefix, "/") {
			continue
		}
		depth := func(name string) int { return strings.Count(name, "/") }
		if found != nil && depth(m.Name) >= depth(found.Name) {
			same = same || depth(m.Name) == depth(found.Name)
			continue
		}
		found, z.prefix, same = m, prefix, false
	}
	switch {
	case found == nil:
		return nil, file.Fault(z.src.Name(), 0, file.ErrFormat, "a zip archive without %s, which torch.save writes", program)
	case same:
		return nil, file.Fault(z.src.Name(), 0, file.ErrFormat, "a zip archive with more than one %s", program)
	case z.archive.Member(z.prefix+"constants.pkl") != nil:
		return nil, file.Fault(z.src.Name(), 0, file.ErrUnsupported, "a program of TorchScript; save its state dict")
	}
	return found, nil
}

// order reads the byte order, which younger files say.
func (z *zipped) order() error {
	m := z.archive.Member(z.prefix + "byteorder")
	if m == nil {
		return nil
	}
	v, err := m.View(0, min(m.Size(), 16))
	if err != nil {
		return err
	}
	defer v.Release()
	switch text := string(v.Bytes()); text {
	case "little":
	case "big":
		z.big = true
	default:
		return file.Fault(z.src.Name(), m.Offset, file.ErrFormat, "byte order %q", text)
	}
	return nil
}

// place finds the member of a storage.
func (z *zipped) place(s *storage) (file.Blob, int64, error) {
	m := z.archive.Member(z.prefix + "data/" + s.key)
	if m == nil {
		return nil, 0, errors.New("the archive has no member " + z.prefix + "data/" + s.key)
	}
	return m, m.Offset, nil
}

// newStorage is ("storage", class, key, location, count), and in old files a view of it:
// nothing or (key, offset, count).
func newStorage(m *machine, id tuple) (any, error) {
	wrong := func() (any, error) {
		return nil, m.fault(file.ErrFormat, "the id of a storage is (%s)", kindsOf(id))
	}
	if len(id) < 5 || len(id) > 6 || id[0] != "storage" {
		return wrong()
	}
	class, ok1 := id[1].(*global)
	key, ok2 := id[2].(string)
	count, ok3 := id[4].(int64)
	if !ok1 || !ok2 || !ok3 || count < 0 {
		return wrong()
	}
	elem, ok := storages[class.name]
	if !ok {
		return wrong()
	}
	s := &storage{class: strings.TrimPrefix(class.name, "_"), elem: elem, key: key, count: count, limit: -1, at: m.op}
	if len(id) == 6 && id[5] != nil {
		view, ok := id[5].(tuple)
		if !ok || len(view) != 3 {
			return wrong()
		}
		skip, ok1 := view[1].(int64)
		limit, ok2 := view[2].(int64)
		if !ok1 || !ok2 || skip < 0 || limit < 0 || skip > count || limit > count-skip {
			return wrong()
		}
		s.skip, s.limit = skip, limit
	}
	return s, nil
}
