package torch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"github.com/gokiln/kiln/tensor/file"
)

// magic is the number that begins a file, 0x1950a86a20f9469cfc6c.
var magic = []byte{0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19}

const legacyVersion = 1001

// readLegacy reads what PyTorch wrote before version 1.6, and still does when it is asked
// to: programs for the magic number, a version, the machine, the value, and the keys of
// storages, and then for each key the number of elements in 8 bytes, and the elements.
func readLegacy(src *file.Source, keys []string) (*file.Set, error) {
	m := newMachine(src.Name(), io.NewSectionReader(src, 0, src.Size()), 0, src.Size(), budgetFor(src.Size()))
	number, err := m.run()
	if err != nil {
		return nil, err
	}
	if n, ok := number.(long); !ok || !bytes.Equal(n, magic) {
		return nil, file.Fault(src.Name(), 0, file.ErrFormat, "no file of PyTorch: a pickle that does not begin with its magic number")
	}
	version, err := m.run()
	if err != nil {
		return nil, err
	}
	if version != int64(legacyVersion) {
		return nil, m.fault(file.ErrUnsupported, "version %v of the format, want %d", version, legacyVersion)
	}
	if _, err := m.run(); err != nil { // about the machine; storages have one byte order on all
		return nil, err
	}
	l := &legacy{src: src, first: map[string]*storage{}, blobs: map[string]placed{}}
	m.storageOf = l.storageOf
	root, err := m.run()
	if err != nil {
		return nil, err
	}
	m.storageOf = nil
	order, err := m.run()
	if err != nil {
		return nil, err
	}
	if err := l.find(m, order); err != nil {
		return nil, err
	}
	c := &collector{set: file.NewSet(src), path: src.Name(), name: src.Name(), place: l.place, budget: m.budget}
	return c.collect(root, keys)
}

// legacy is a file with storages behind the programs.
type legacy struct {
	src   *file.Source
	first map[string]*storage // by key, the first that was named
	blobs map[string]placed
}

type placed struct {
	blob file.Blob
	at   int64
}

// storageOf remembers the first class of each storage, which says how large its elements
// are in the file.
func (l *legacy) storageOf(m *machine, id tuple) (any, error) {
	if len(id) == 4 && id[0] == "module" {
		return nil, m.fault(file.ErrUnsupported, "a module, which is a program of Python; save its state dict")
	}
	v, err := newStorage(m, id)
	if err != nil {
		return nil, err
	}
	s := v.(*storage)
	if l.first[s.key] == nil {
		l.first[s.key] = s
	}
	return s, nil
}

// find goes through the storages, which begin where the machine is, in the order of the
// keys.
func (l *legacy) find(m *machine, order any) error {
	keys, ok := order.(*list)
	if !ok {
		return m.fault(file.ErrFormat, "the keys of storages are %s", kindOf(order))
	}
	at, size := m.at, l.src.Size()
	for _, k := range keys.items {
		key, _ := k.(string)
		s := l.first[key]
		if _, twice := l.blobs[key]; s == nil || twice {
			return m.fault(file.ErrFormat, "the keys of storages have %s %q, which no tensor has or another has", kindOf(k), key)
		}
		var head [8]byte
		if size-at < int64(len(head)) {
			return file.Fault(l.src.Name(), size, file.ErrTruncated, "storage %q should begin at byte %d", key, at)
		}
		if _, err := l.src.ReadAt(head[:], at); err != nil {
			return err
		}
		count, per := binary.LittleEndian.Uint64(head[:]), dtypes[s.elem].size
		if count != uint64(s.count) {
			return file.Fault(l.src.Name(), at, file.ErrFormat, "storage %q has %d elements, and %d were said", key, count, s.count)
		}
		if at += int64(len(head)); s.count > (size-at)/int64(per) {
			return file.Fault(l.src.Name(), size, file.ErrTruncated, "storage %q has %d elements of %d bytes from byte %d on", key, count, per, at)
		}
		blob, err := l.src.Section(at, s.count*int64(per))
		if err != nil {
			return err
		}
		l.blobs[key] = placed{blob, at}
		at += blob.Size()
	}
	if at != size {
		return file.Fault(l.src.Name(), at, file.ErrFormat, "%d bytes behind the storages", size-at)
	}
	return nil
}

func (l *legacy) place(s *storage) (file.Blob, int64, error) {
	p, ok := l.blobs[s.key]
	if !ok {
		return nil, 0, errors.New("it is not among the keys of storages")
	}
	return p.blob, p.at, nil
}
