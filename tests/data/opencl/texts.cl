kernel void matches(global int *count, global const char *text, constant char *word, int n) {
  size_t i = get_global_id(0);
  for (int k = 0; k < n; k++)
    if (text[i + k] != word[k]) return;
  atomic_inc(count);
}
kernel void capitals(global char *text) {
  size_t i = get_global_id(0);
  char c = text[i];
  text[i] = c >= 'a' && c <= 'z' ? c - 32 : c;
}
