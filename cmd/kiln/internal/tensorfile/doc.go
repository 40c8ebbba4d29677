// Package tensorfile is what kiln tensors does with files of any format: it finds the format, lists
// what is there, compares the values of two files, and writes tensors in another format.
//
//	m, err := tensorfile.Open("model.gguf", "")
//	defer m.Close()
//	for e := range m.All() { … }
//	err = tensorfile.Write("model.safetensors", "", m, tensorfile.Options{Dequantize: true})
//
// It works on the host and asks no device.
package tensorfile
