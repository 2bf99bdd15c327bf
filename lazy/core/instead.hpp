// Names what to write in place of code that is refused on purpose. A deleted function returns one of these,
// so that the compiler's message has it: "use of deleted function 'lazy::instead::maximum lazy::max(...)'".
#pragma once

namespace lazy::instead {

class maximum;  // max(x, 0) is the largest along axis 0, so max(x, 0.5) means nothing
class minimum;
// torch's x.split(2) has parts of 2, NumPy's split(x, 2) has 2 parts.
class chunk_or_the_function_split;
// torch's x.repeat(2) is x twice, NumPy's has each element twice.
class tile_or_repeat_interleave;
// torch's x.equal(y) is one bool, NumPy's equal(x, y) one for each element.
class eq_or_the_function_array_equal;
// auto row = x(0); row += v; would not change x, but looks as if it did.
class x_i_itself_or_Tensor_in_place_of_auto;

}  // namespace lazy::instead
