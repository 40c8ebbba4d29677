package asm

// maskRows are the instructions of masks, and those of general registers that have
// three operands.
var maskRows = [...]form{
	{BZHI, vex, m0F38, np, 0xf5, slashR, wG, b32 | b64, t0, args{dG, rmG, sVG}},
	{SHLX, vex, m0F38, p66, 0xf7, slashR, wG, b32 | b64, t0, args{dG, rmG, sVG}},
	{SARX, vex, m0F38, pF3, 0xf7, slashR, wG, b32 | b64, t0, args{dG, rmG, sVG}},
	{SHRX, vex, m0F38, pF2, 0xf7, slashR, wG, b32 | b64, t0, args{dG, rmG, sVG}},
	{BLSR, vex, m0F38, np, 0xf3, slash1, wG, b32 | b64, t0, args{dVG, rmG}},
	{KMOVW, vex, m0F, np, 0x90, slashR, w0, anyWidth, t0, args{dK, rmK16}},
	{KMOVW, vex, m0F, np, 0x91, slashR, w0, anyWidth, t0, args{wMem16, sK}},
	{KMOVW, vex, m0F, np, 0x92, slashR, w0, anyWidth, t0, args{dK, rG32}},
	{KMOVW, vex, m0F, np, 0x93, slashR, w0, anyWidth, t0, args{dG32, rK}},
	{KMOVQ, vex, m0F, np, 0x90, slashR, w1, anyWidth, t0, args{dK, rmK64}},
	{KMOVQ, vex, m0F, np, 0x91, slashR, w1, anyWidth, t0, args{wMem64, sK}},
	{KMOVQ, vex, m0F, pF2, 0x92, slashR, w1, anyWidth, t0, args{dK, rG64}},
	{KMOVQ, vex, m0F, pF2, 0x93, slashR, w1, anyWidth, t0, args{dG64, rK}},
	{KANDW, vex, m0F, np, 0x41, slashR, w0, anyWidth | l1, t0, args{dK, sVK, rK}},
	{KANDNW, vex, m0F, np, 0x42, slashR, w0, anyWidth | l1, t0, args{dK, sVK, rK}},
	{KORW, vex, m0F, np, 0x45, slashR, w0, anyWidth | l1, t0, args{dK, sVK, rK}},
	{KXNORW, vex, m0F, np, 0x46, slashR, w0, anyWidth | l1, t0, args{dK, sVK, rK}},
	{KXORW, vex, m0F, np, 0x47, slashR, w0, anyWidth | l1, t0, args{dK, sVK, rK}},
	{KUNPCKBW, vex, m0F, p66, 0x4b, slashR, w0, anyWidth | l1, t0, args{dK, sVK, rK}},
	{KNOTW, vex, m0F, np, 0x44, slashR, w0, anyWidth, t0, args{dK, rK}},
	{KORTESTW, vex, m0F, np, 0x98, slashR, w0, anyWidth, t0, args{sK, rK}},
	{KORTESTB, vex, m0F, p66, 0x98, slashR, w0, anyWidth, t0, args{sK, rK}},
	{KSHIFTRW, vex, m0F3A, p66, 0x30, slashR, w1, anyWidth, t0, args{dK, rK, i8}},
}
