// Command variants counts what the common operations of tensors (package commonops) compile on
// a device, and which compile-time parameters are the reason:
//
//	go run ./bench/variants                    # on the CPU
//	go run ./bench/variants -device cuda:0
//	go run ./bench/variants -device cpu:avx512-record  # as on a processor with AVX-512, on any
//	go run ./bench/variants -device cpu:avx512-record,cpu:amx-record  # and with AMX besides
//	go run ./bench/variants -ops               # by operation, in the order of their first use
//	go run ./bench/variants -record common.txt # and keep the record, for kiln prebuild -from
//	go run ./bench/variants -first -prebuilt   # how long all first uses take, with the packages in prebuilt
//
// A specialisation is a kernel with its types, functions and compile-time values; a variant is
// a specialisation for launches with some properties, such as aligned memory. For each
// parameter the command prints how many specialisations a family would have fewer if it were a
// value of the run time: what a parameter has to earn.
//
// Nothing is taken from a cache or a bundle, and the times are those of the first launches, with
// all that they wait for.
package main
