import unittest

from lamps import burning_time


class BurningTime(unittest.TestCase):
    def test_an_evening(self):
        self.assertEqual(burning_time("17:00", "22:00"), 300)


if __name__ == "__main__":
    unittest.main()
