// Occurrences of a word of eight letters in records of text, with a table of skips in a private array of bytes.
__kernel void search(__global const uchar* text, __constant uchar* word, __global uint* counts, int length) {
  __global const uchar* record = text + get_global_id(0) * length;
  uchar skips[32];
  for (int n = 0; n < 32; n++) skips[n] = 8;
  for (int n = 0; n < 7; n++) skips[word[n] & 31] = 7 - n;
  uint count = 0;
  int place = 0;
  while (place + 8 <= length) {
    int n = 7;
    while (n >= 0 && record[place + n] == word[n]) n--;
    count += n < 0;
    place += skips[record[place + 7] & 31];
  }
  counts[get_global_id(0)] = count;
}
