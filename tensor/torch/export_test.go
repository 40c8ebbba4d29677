package torch

import (
	"bytes"

	"github.com/gokiln/kiln/tensor/file"
)

// Run runs a program, all of whose storages have the same bytes.
func Run(program, storage []byte) (*file.Set, error) {
	m := newMachine("program", bytes.NewReader(program), 0, int64(len(program)), budgetFor(int64(len(program))))
	m.storageOf = newStorage
	root, err := m.run()
	if err != nil {
		return nil, err
	}
	src := file.FromBytes("storage", storage)
	c := &collector{set: file.NewSet(src), path: "program", name: "storage", budget: m.budget, place: func(*storageOf) (file.Blob, int64, error) {
		b, err := src.Section(0, src.Size())
		return b, 0, err
	}}
	return c.collect(root, nil)
}

type storageOf = storage
