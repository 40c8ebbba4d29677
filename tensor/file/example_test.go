package file_test

import (
	"fmt"
	"os"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/tensor/file"
)

func ExampleEntry_Narrow() {
	e, err := file.FromMemory("grid", dtype.U8, layout.Shape{3, 4}, []byte{
		1, 2, 3, 4,
		5, 6, 7, 8,
		9, 10, 11, 12,
	})
	if err != nil {
		panic(err)
	}
	columns, err := e.Narrow(1, 2, 2)
	if err != nil {
		panic(err)
	}
	values, err := file.Values[uint8](columns)
	fmt.Println(columns.Shape(), values, err)
	// Output: [3, 2] [3 4 7 8 11 12] <nil>
}

func ExampleSource_View() {
	path := os.TempDir() + "/kiln-example.bin"
	if err := os.WriteFile(path, []byte("bytes of a file"), 0o600); err != nil {
		panic(err)
	}
	defer os.Remove(path)
	s, err := file.Open(path)
	if err != nil {
		panic(err)
	}
	v, err := s.View(9, 6)
	if err != nil {
		panic(err)
	}
	defer v.Release()
	s.Close() // the view stays
	fmt.Printf("%s\n", v.Bytes())
	// Output: a file
}
