package npy_test

import (
	"bytes"
	"fmt"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/tensor/file"
	"github.com/gokiln/kiln/tensor/npy"
)

func Example() {
	weight, err := file.FromMemory("weight", dtype.I16, layout.Shape{2, 2}, []byte{1, 0, 2, 0, 3, 0, 4, 0})
	if err != nil {
		panic(err)
	}
	bias, err := file.FromMemory("bias", dtype.U8, layout.Shape{2}, []byte{5, 6})
	if err != nil {
		panic(err)
	}
	var b bytes.Buffer
	if err := npy.WriteNPZ(&b, weight, bias); err != nil {
		panic(err)
	}

	set, err := npy.ReadNPZ(file.FromBytes("model.npz", b.Bytes()))
	if err != nil {
		panic(err)
	}
	defer set.Close()
	for e := range set.All() {
		fmt.Println(e.Name, e.Stored, e.DType, e.Shape())
	}
	e, err := set.Get("weight")
	if err != nil {
		panic(err)
	}
	values, err := file.Values[int16](e)
	fmt.Println(values, err)
	// Output:
	// weight <i2 i16 [2, 2]
	// bias |u1 u8 [2]
	// [1 2 3 4] <nil>
}
